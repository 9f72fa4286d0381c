package main

import (
	"regexp"
	"strings"
)

// rewriting is one change to the text of an error before a person sees it: the names of packages, of files that are
// written on the way to another, and of system calls say nothing to anybody but us.
type rewriting struct {
	pattern *regexp.Regexp
	text    string
}

// errnos are the system's own words for why a file cannot be used.
const errnos = `permission denied|operation not permitted|is a directory|not a directory|file exists|` +
	`input/output error|no space left on device|disk quota exceeded|read-only file system|file name too long|` +
	`too many levels of symbolic links|too many open files|text file busy|device or resource busy|invalid argument`

// phrases returns the rewritings, in the order in which they are made.
func phrases() []rewriting {
	const call = `\b(?:open|openat|stat|lstat|statx|fstat|mkdir|mkdirat|unlink|remove|read|write|readdir|chmod|fsync|sync|create|backup|connect|link|rename) `
	to := func(pattern, text string) rewriting { return rewriting{regexp.MustCompile(pattern), text} }
	return []rewriting{
		to(`\bdial (?:unix|tcp) (\S+): connect: (?:no such file or directory|connection refused)`, "nobody listens on $1"),
		to(`\bdial (?:unix|tcp) (\S+): connect: (`+errnos+`)`, "$1: $2"),
		to(`(/[^\s:]*)/\.new-\w+`, "$1"),
		to(`(/[^\s:]*)\.new\d*\b`, "$1"),
		to(`\blink (\S+) (\S+): (`+errnos+`)`, "$2: $3"),
		to(call+`(\S[^\n]*?): (?:no such file or directory|file does not exist)`, "there is no $1"),
		to(call+`(\S[^\n]*?): (`+errnos+`|file already exists)`, "$1: $2"),
		to(`(?:: )?(?:no such file or directory|file does not exist)$`, ""),
		to(`\bcontext deadline exceeded\b`, "it took too long"),
		to(`\bcontext canceled\b`, "it was interrupted"),
		to(`\bunexpected EOF\b`, "it ends too early"),
		to(`: (?:unable to open database file|file is not a database|database is locked|disk I/O error|attempt to write a readonly database)(?:: [^:(]*)? \(\d+\)`, ""),
		to(`(^|: |\n|; )(?:(?:store|journal|paper|gate|ledger|market|policy|hook|mcp|wire|trade|sqlite|hujson|jsontext|json|pflag|exec|sql|user|strconv\.\w+|syscall|driver): )+`, "$1"),
		to(`^broken: `, ""),
	}
}

// plain returns what an error says, in words that do not tell how the program is made.
func plain(err error) string { return plainText(err.Error()) }

// plainText rewrites the text of an error.
func plainText(s string) string {
	if s == "" {
		return ""
	}
	for _, r := range phrases() {
		s = r.pattern.ReplaceAllString(s, r.text)
	}
	return masked(strings.TrimSpace(s))
}
