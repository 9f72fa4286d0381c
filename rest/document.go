package rest

import _ "embed"

//go:embed openapi-agents.json
var openAPIAgents string

//go:embed openapi-people.json
var openAPIPeople string

func agentsDocument() []byte { return []byte(openAPIAgents) }

func peopleDocument() []byte { return []byte(openAPIPeople) }
