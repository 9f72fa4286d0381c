package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"sallyport/trade"
)

// The environment variables that say what this process may do, and to which daemon it speaks.
const (
	tierVariable      = "SALLYPORT_TIER"
	daemonVariable    = "SALLYPORT_DAEMON"
	peopleVariable    = "SALLYPORT_PEOPLE"
	tokenVariable     = "SALLYPORT_TOKEN"
	tokenFileVariable = "SALLYPORT_TOKEN_FILE"
)

// grant is what this process may do, as its environment had it when it started.
type grant struct {
	tier trade.Tier
	err  error
}

// readGrant reads the tier, once. Nothing that an agent can call reads it again.
//
//limit:cli-tier-once The tier of a process is read once, when it starts, from SALLYPORT_TIER alone; unset it is 0, and a malformed one is refused.
func readGrant(getenv func(string) string) grant {
	text := getenv(tierVariable)
	if text == "" {
		return grant{}
	}
	tier, ok := trade.ParseTier(text)
	if !ok {
		return grant{err: usage("Set it to 0 (read), 1 (propose, and stop everything) or 2 (execute); unset it is 0.",
			"%s is %q, which is no tier", tierVariable, show(text))}
	}
	return grant{tier: tier}
}

// tier returns what this process may do.
func (a *app) tier() (trade.Tier, error) { return a.granted.tier, a.granted.err }

// daemonAddress returns where the daemon of an agent's command is; empty if it decides itself.
func (a *app) daemonAddress(cfg config) (string, error) {
	s := a.getenv(daemonVariable)
	switch {
	case s == "":
		return cfg.Daemon.Address, nil
	case !isDaemonAddress(s):
		return "", usage("Write unix:/PATH or http://127.0.0.1:PORT, or leave it unset.", "%s is %q, which is no address", daemonVariable, show(s))
	}
	return s, nil
}

// agentToken returns the token that this process shows to the daemon; empty where a socket vouches for it.
func (a *app) agentToken(cfg config) (string, error) {
	token, path := a.getenv(tokenVariable), a.getenv(tokenFileVariable)
	switch {
	case token != "" && path != "":
		return "", usage("Leave one of them unset.", "both %s and %s are set", tokenVariable, tokenFileVariable)
	case token != "":
		return token, nil
	case path == "":
		path = cfg.Daemon.TokenFile
	}
	if path == "" {
		return "", nil
	}
	return readSecret(path, "token")
}

// maxSecret is the longest token or credential that is read.
//
//limit:cli-secret-bytes A token or credential is read up to 512 bytes.
const maxSecret = 512

// readSecret reads a file that holds one secret, which only its owner can read.
//
//limit:cli-secret-file A file with a token or credential is refused if anybody beside its owner can read or change it.
func readSecret(path, what string) (string, error) {
	raw, refused, err := readOwned(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usage("Name a file that exists.", "there is no %s file %s", what, showPath(path))
	case refused != "":
		return "", usage(ownRepair(path), "the %s file is not used: %s", what, refused)
	case err != nil:
		return "", usage("Make it readable for this user.", "the %s file cannot be read: %s", what, plain(err))
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm()&0o077 != 0 {
		return "", usage("chmod 600 "+showPath(path), "others can read the %s file %s", what, showPath(path))
	}
	return oneSecret(raw, what)
}

// oneSecret takes the one line that a secret is.
func oneSecret(raw []byte, what string) (string, error) {
	s := strings.TrimRight(string(raw), "\r\n")
	printable := func(r rune) bool { return r <= ' ' || r > '~' }
	if s == "" || len(s) > maxSecret || strings.IndexFunc(s, printable) >= 0 {
		return "", usage("Give exactly what was shown when it was made.", "what was given is no %s: one line of up to %d characters is asked", what, maxSecret)
	}
	return s, nil
}
