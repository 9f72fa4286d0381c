package mcp

const childMode = "SALLYPORT_TEST_MCP"

func child(mode string) int { return 1 }
