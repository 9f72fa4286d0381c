// Package packaging holds what installs Sallyport on a machine. Its tests hold the unit to what the documents say of it.
package packaging

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// settings reads a unit's settings, section by section; a repeated one keeps every value.
func settings(t *testing.T, raw []byte) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	section := ""
	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		default:
			name, value, ok := strings.Cut(line, "=")
			if !ok || section == "" {
				t.Fatalf("not a setting: %q", line)
			}
			all[section+"."+name] = append(all[section+"."+name], value)
		}
	}
	return all
}

func unit(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("sallyport.service")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestTheUnitIsShutIn wants each directive that keeps a daemon that was taken over from the rest of the machine.
func TestTheUnitIsShutIn(t *testing.T) {
	got := settings(t, unit(t))
	for name, want := range map[string][]string{
		"Service.Type":                    {"notify"},
		"Service.User":                    {"sallyport"},
		"Service.StateDirectory":          {"sallyport"},
		"Service.StateDirectoryMode":      {"0700"},
		"Service.UMask":                   {"0077"},
		"Service.NoNewPrivileges":         {"yes"},
		"Service.CapabilityBoundingSet":   {""},
		"Service.AmbientCapabilities":     {""},
		"Service.ProtectSystem":           {"strict"},
		"Service.ProtectHome":             {"yes"},
		"Service.PrivateTmp":              {"yes"},
		"Service.PrivateDevices":          {"yes"},
		"Service.ProtectKernelTunables":   {"yes"},
		"Service.ProtectKernelModules":    {"yes"},
		"Service.ProtectKernelLogs":       {"yes"},
		"Service.ProtectControlGroups":    {"yes"},
		"Service.ProtectClock":            {"yes"},
		"Service.ProtectHostname":         {"yes"},
		"Service.ProtectProc":             {"invisible"},
		"Service.RestrictNamespaces":      {"yes"},
		"Service.RestrictRealtime":        {"yes"},
		"Service.RestrictSUIDSGID":        {"yes"},
		"Service.LockPersonality":         {"yes"},
		"Service.MemoryDenyWriteExecute":  {"yes"},
		"Service.SystemCallArchitectures": {"native"},
		"Service.SystemCallFilter":        {"@system-service", "~@privileged @resources"},
		"Service.RestrictAddressFamilies": {"AF_UNIX AF_INET AF_INET6"},
		"Service.IPAddressDeny":           {"any"},
		"Service.IPAddressAllow":          {"localhost"},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	start := got["Service.ExecStart"]
	if len(start) != 1 || !strings.HasSuffix(strings.Fields(start[0])[0], "/sallyport") || strings.Fields(start[0])[1] != "serve" {
		t.Errorf("it starts %q", start)
	}
	for name := range got {
		if strings.HasPrefix(name, "Service.ExecStartPre") || name == "Service.EnvironmentFile" {
			t.Errorf("%s runs or reads something else", name)
		}
	}
	for _, value := range got["Service.Environment"] {
		if strings.Contains(value, "TOKEN") || strings.Contains(value, "CREDENTIAL") || strings.Contains(value, "TIER") {
			t.Errorf("the environment of the daemon has %q", value)
		}
	}
}

// TestSystemdTakesTheUnit has systemd itself read it, where there is one.
func TestSystemdTakesTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "sallyport.service")
	here := bytes.ReplaceAll(unit(t), []byte("/usr/local/bin/sallyport"), []byte(program)) // which is not installed here
	if err := os.WriteFile(path, here, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte(path)) {
		t.Errorf("%v\n%s", err, out)
	}
}
