package rest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"sallyport/trade"
)

var update = flag.Bool("update", false, "write the documents instead of comparing them")

type object = map[string]any

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func jsonBody(name string) object { return object{"application/json": object{"schema": ref(name)}} }

// buildDocument makes the OpenAPI document of one half from its table of paths and the schemas.
func buildDocument(t *testing.T, half string, routes []route) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var schemas object
	if err := json.Unmarshal(raw, &schemas); err != nil {
		t.Fatal(err)
	}
	paths := object{}
	for _, r := range routes {
		item, _ := paths[r.path].(object)
		if item == nil {
			item = object{}
			paths[r.path] = item
		}
		item[strings.ToLower(r.method)] = operation(half, r)
	}
	for path, about := range map[string]string{"/healthz": "Whether the daemon lives", "/readyz": "Whether the journal can record"} {
		paths[path] = object{"get": object{"summary": about, "operationId": path[1:], "security": []any{}, "responses": object{
			"200": object{"description": "it does", "content": jsonBody("Health")}, "default": problemResponse(),
		}}}
	}
	if half == "people" {
		paths["/metrics"] = object{"get": object{"summary": "Counters, for Prometheus", "operationId": "metrics", "security": []any{}, "responses": object{
			"200": object{"description": "the counters", "content": object{"text/plain": object{"schema": object{"type": "string"}}}}, "default": problemResponse(),
		}}}
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Sallyport, the API for " + half, "version": "1",
			"description": introduction(half),
		},
		"security":   []any{object{"bearer": []any{}}},
		"paths":      paths,
		"components": object{"schemas": schemas, "securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}}},
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(prune(doc, schemas)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func introduction(half string) string {
	if half == "people" {
		return "The bearer token is a person's own credential. Whether that person may do it is decided with each call. Members may be added to answers; none is renamed."
	}
	return "The bearer token is an agent's; a socket that belongs to one agent needs none. The header X-Sallyport-Tier lowers the caller's tier for one " +
		"call and never raises it. An order is answered with the decision object, 200, whatever its verdict; only what could not be decided is a problem. " +
		"A client order id makes an order idempotent: the same order under the same id answers with the first decision, and \"repeated\":true. " +
		"Members may be added to answers; none is renamed."
}

func problemResponse() object {
	return object{"description": "a problem; 429 and 503 say in Retry-After when to come back", "content": object{"application/problem+json": object{"schema": ref("Problem")}}}
}

func operation(half string, r route) object {
	status := r.status
	if status == 0 {
		status = 200
	}
	good := object{"description": "done"}
	if r.gives != "" {
		good["content"] = jsonBody(r.gives)
	}
	op := object{
		"summary":     r.about,
		"operationId": strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(strings.ToLower(r.method+r.path[3:]), "_"), "_"),
		"responses":   object{fmt.Sprint(status): good, "default": problemResponse()},
	}
	var params []any
	if m := regexp.MustCompile(`\{(\w+)\}`).FindStringSubmatch(r.path); m != nil {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, name := range r.query {
		params = append(params, object{"name": name, "in": "query", "schema": querySchema(name)})
	}
	if half == "agents" {
		params = append(params, object{"name": TierHeader, "in": "header", "schema": object{"enum": []any{"0", "1", "2"}}})
		op["x-required-tier"] = r.tier
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if r.takes != "" {
		op["requestBody"] = object{"required": r.takes != "Nothing", "content": jsonBody(r.takes)}
	}
	return op
}

func querySchema(name string) object {
	switch name {
	case "state":
		return ref("State")
	case "limit":
		return object{"type": "integer", "minimum": 1, "maximum": 200}
	case "from", "to":
		return object{"type": "string", "format": "date-time"}
	}
	return object{"type": "string"}
}

// prune leaves out the schemas that a document has no need of.
func prune(doc, schemas object) object {
	for {
		raw, _ := json.Marshal(doc)
		gone := false
		for name := range schemas {
			if !bytes.Contains(raw, []byte(`"#/components/schemas/`+name+`"`)) {
				delete(schemas, name)
				gone = true
			}
		}
		if !gone {
			return doc
		}
	}
}

func TestDocumentsAreWhatTheTablesSay(t *testing.T) {
	for half, routes := range map[string][]route{"agents": agentRoutes(), "people": personRoutes()} {
		file := "openapi-" + half + ".json"
		want := buildDocument(t, half, routes)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what the table of paths says: go test ./rest -run Documents -update (%v)", file, err)
		}
	}
}

// TestHalvesShareNoPathThatChangesAnother makes sure that what only people may do is in no table of the agents'.
func TestHalvesShareNoPathThatChangesAnother(t *testing.T) {
	allowed := map[string]bool{"POST /v1/kill": true, "POST /v1/orders/{id}/cancel": true}
	people := map[string]bool{}
	for _, r := range personRoutes() {
		people[r.method+" "+r.path] = true
	}
	for _, r := range agentRoutes() {
		at := r.method + " " + r.path
		if r.method != "GET" && people[at] && !allowed[at] {
			t.Errorf("both halves have %s", at)
		}
		for _, word := range []string{"approve", "decline", "reset", "people", "agents", "reductions", "reconcile"} {
			if strings.Contains(r.path, word) {
				t.Errorf("the agents' half has %s", at)
			}
		}
	}
}

func TestTierOfARouteIsOne(t *testing.T) {
	for _, r := range agentRoutes() {
		if r.tier > trade.TierExecute {
			t.Errorf("%s %s has the tier %d", r.method, r.path, r.tier)
		}
	}
}
