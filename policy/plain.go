package policy

// Plain returns a policy file of either version as plain JSON: what are comments and trailing commas in one of version 2
// is white space. It does not judge the file.
func Plain(raw []byte) []byte {
	plain, _ := blank(raw)
	return plain
}
