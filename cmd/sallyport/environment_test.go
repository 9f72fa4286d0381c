package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/trade"
)

// TestATierIsReadOnceAndOnlyFromItsVariable changes the environment under a running command, and says the tier in every
// other place.
//
//attack:cli-tier-once
func TestATierIsReadOnceAndOnlyFromItsVariable(t *testing.T) {
	d := newDesk(t)
	d.must(exitFine, "init")
	if err := os.WriteFile(filepath.Join(d.home, configName), []byte(`{"agent":"desk"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	var out, errOut bytes.Buffer
	a := &app{stdin: strings.NewReader(compliant), stdout: &out, stderr: &errOut, now: time.Now, random: fillRandom}
	a.getenv = func(name string) string {
		switch {
		case name == homeVariable:
			return d.home
		case name == tierVariable:
			if asked++; asked == 1 {
				return "1"
			}
			return "2"
		case strings.HasPrefix(name, "SALLYPORT_") && strings.Contains(name, "TIER"):
			return "2"
		}
		return ""
	}
	if code := run(a, []string{"order", "--json", "-"}); code != exitDenied || asked != 1 ||
		!strings.Contains(out.String(), `"required_tier":2,"current_tier":1`) {
		t.Errorf("exit code %d, asked %d times: %s%s", code, asked, out.String(), errOut.String())
	}
	for _, bad := range []string{"3", "-1", "02", " 2", "2 ", "two", "2.0", "٢", "\x00"} {
		if g := readGrant(func(string) string { return bad }); g.err == nil || g.tier != trade.TierRead || problemOf(g.err).exit != exitUsage {
			t.Errorf("%q is taken as tier %s: %v", bad, g.tier, g.err)
		}
	}
	if g := readGrant(func(string) string { return "" }); g.tier != trade.TierRead || g.err != nil {
		t.Errorf("unset is %+v", g)
	}
}

// TestASecretOthersCanReadIsRefused tries every file that is no secret of this user's alone.
//
//attack:cli-secret-file
//attack:cli-secret-bytes
func TestASecretOthersCanReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("a", maxSecret)
	if got, err := readSecret(write("good", "sp-agent-x\n", 0o600), "token"); err != nil || got != "sp-agent-x" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := readSecret(write("longest", long+"\r\n", 0o400), "token"); err != nil || got != long {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	fifo := filepath.Join(dir, "fifo")
	mkfifo(t, fifo)
	bad := map[string]string{
		write("group", "s", 0o640): "others can read", write("world", "s", 0o604): "others can read",
		write("writable", "s", 0o620): "is not used", write("empty", "", 0o600): "is no token", write("newline", "\n", 0o600): "is no token",
		write("two", "a\nb\n", 0o600): "is no token", write("spaces", "a b", 0o600): "is no token", write("nul", "a\x00", 0o600): "is no token",
		write("long", long+"a", 0o600): "is no token", write("endless", strings.Repeat("a", maxConfig+1), 0o600): "is not used",
		dir: "is not used", fifo: "is not used", filepath.Join(dir, "nowhere"): "there is no token file",
	}
	if os.Geteuid() == 0 {
		foreign := write("foreign", "s", 0o600)
		if err := os.Chown(foreign, 4711, 4711); err != nil {
			t.Fatal(err)
		}
		bad[foreign] = "is not used"
	}
	for path, want := range bad {
		got, err := readSecret(path, "token")
		if err == nil || got != "" || problemOf(err).exit != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", filepath.Base(path), got, err, want)
		}
		if err != nil && strings.Contains(err.Error()+problemOf(err).repair, long) {
			t.Errorf("%s: the error says what is in the file", filepath.Base(path))
		}
	}
}

// TestATokenComesFromOnePlace wants no guess which of two tokens is meant.
func TestATokenComesFromOnePlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("sp-agent-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env        map[string]string
		configured string
		want       string
		fails      bool
	}{
		{map[string]string{}, "", "", false},
		{map[string]string{tokenVariable: "sp-agent-env"}, file, "sp-agent-env", false},
		{map[string]string{tokenFileVariable: file}, "/nowhere", "sp-agent-file", false},
		{map[string]string{}, file, "sp-agent-file", false},
		{map[string]string{tokenVariable: "x", tokenFileVariable: file}, "", "", true},
		{map[string]string{tokenFileVariable: "/nowhere"}, file, "", true},
	} {
		a := &app{getenv: func(name string) string { return c.env[name] }}
		got, err := a.agentToken(config{Daemon: daemonConfig{TokenFile: c.configured}})
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%v and %q: %q, %v", c.env, c.configured, got, err)
		}
	}
}

// TestACredentialsDescriptorIsNoneOfOurs names descriptors that hold no credential, or that this process opened itself.
//
//attack:cli-credential-fd
func TestACredentialsDescriptorIsNoneOfOurs(t *testing.T) {
	own, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	dir, err := syscall.Open(t.TempDir(), syscall.O_RDONLY, 0) // not marked to be closed, as if it had been given
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(dir)
	for _, text := range []string{"", "-1", "1", "2", "x", "3x", "1048577", "99999999999999999999", "4095", itoa(int(own.Fd())), itoa(dir)} {
		d := &descriptor{}
		if err := d.Set(text); err == nil || d.file != nil {
			t.Errorf("%q was taken", text)
		}
	}
	given, err := syscall.Dup(int(own.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(given)
	d := &descriptor{}
	if err := d.Set(itoa(given)); err != nil || d.file == nil || d.String() != itoa(given) {
		t.Fatalf("%v", err)
	}
	d.file.Close()
}

func itoa(n int) string { return uintText(uint64(n)) }
