package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/rest"
)

// credentialVariable names the environment variable that says in which file a person's credential is. The credential
// itself is never in the environment, and never an argument: both are seen by other processes.
const credentialVariable = "SALLYPORT_CREDENTIAL_FILE"

// descriptor is the flag --credential-fd: a file descriptor that whoever started this process has opened. It is taken
// when the flag is read, before this process opens anything itself, so that it cannot name one of our own files.
type descriptor struct {
	file *os.File
	text string
}

// String implements pflag.Value.
func (d *descriptor) String() string { return d.text }

// Type implements pflag.Value.
func (d *descriptor) Type() string { return "uint" }

// Set implements pflag.Value.
//
//limit:cli-credential-fd A credential's file descriptor is 0 or at least 3, and a file, a pipe, a socket or a terminal that was open when the program started.
func (d *descriptor) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 20)
	if err != nil || n == 1 || n == 2 {
		return errors.New("not a file descriptor for a credential")
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(n), &st); err != nil {
		return err
	}
	// What this process opened itself is closed when it starts another; what it was given cannot be marked so.
	if flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(n), syscall.F_GETFD, 0); errno != 0 || flags&syscall.FD_CLOEXEC != 0 {
		return errors.New("nobody has opened that file descriptor for this program")
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG, syscall.S_IFIFO, syscall.S_IFSOCK, syscall.S_IFCHR:
	default:
		return errors.New("neither a file nor a pipe")
	}
	own, err := syscall.Dup(int(n))
	if err != nil {
		return err
	}
	syscall.CloseOnExec(own)
	d.file, d.text = os.NewFile(uintptr(own), "credential"), text
	return nil
}

// withCredential gives a command the flag --credential-fd.
func withCredential(a *app, c *cobra.Command, what string) *cobra.Command {
	c.Flags().Var(&a.secret, "credential-fd", what)
	return c
}

// yourCredential is what the flag says where it is read from.
const yourCredential = "read your credential from the open file descriptor `N` (default: $SALLYPORT_CREDENTIAL_FILE, else ask for it)"

// listCredential is that of a command that only lists.
const listCredential = "read your credential from the open file descriptor `N`; only a daemon that $SALLYPORT_PEOPLE names wants one (default: $SALLYPORT_CREDENTIAL_FILE, else ask for it)"

// stopCredential is that of a command that stops.
const stopCredential = "stop as the person whose credential is read from the open file descriptor `N` (default: $SALLYPORT_CREDENTIAL_FILE, else as nobody; a stop asks for nothing)"

// credential returns the credential of the person who gives this command.
func (a *app) credential(ctx context.Context) (string, error) {
	if f := a.secret.file; f != nil {
		raw, err := io.ReadAll(io.LimitReader(interruptible(ctx, f), maxSecret+2))
		if err != nil {
			return "", usage("Open it for reading: 3<FILE.", "the credential cannot be read from descriptor %s: %s", a.secret.text, plain(err))
		}
		return oneSecret(raw, "credential")
	}
	if path := a.getenv(credentialVariable); path != "" {
		return readSecret(path, "credential")
	}
	return a.askSecret(ctx, "Your credential: ")
}

// askSecret asks for a secret on the terminal, without showing what is typed.
//
//limit:cli-no-echo A credential that is typed is not shown, and an interrupted question leaves the terminal as it was.
func (a *app) askSecret(ctx context.Context, prompt string) (string, error) {
	f, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return "", usage("Give it with --credential-fd N, or name its file by "+credentialVariable+".", "a credential is asked on a terminal, and standard input is none")
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", internal(err)
	}
	type typed struct {
		raw []byte
		err error
	}
	done := make(chan typed, 1)
	fmt.Fprint(a.stderr, prompt)
	go func() {
		raw, err := term.ReadPassword(fd)
		done <- typed{raw, err}
	}()
	select {
	case t := <-done:
		fmt.Fprintln(a.stderr)
		if t.err != nil {
			return "", usage("Type it, and end with Return.", "no credential was typed")
		}
		return oneSecret(t.raw, "credential")
	case <-ctx.Done():
		_ = term.Restore(fd, before) // the process ends
		fmt.Fprintln(a.stderr)
		return "", brokenOff()
	}
}

// brokenOff is the end of a command whose question was interrupted.
func brokenOff() *problem {
	return &problem{exit: exitInterrupted, what: "it was interrupted; nothing was done"}
}

// askLine asks for a line on the terminal. Nothing else is asked after it but lines.
func (a *app) askLine(ctx context.Context, prompt string) (string, error) {
	if f, ok := a.stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return "", errNoTerminal
	}
	fmt.Fprint(a.stderr, prompt)
	if a.lines == nil {
		a.lines = bufio.NewReader(io.LimitReader(interruptible(ctx, a.stdin), maxSecret))
	}
	line, err := a.lines.ReadString('\n')
	if ctx.Err() != nil {
		fmt.Fprintln(a.stderr)
		return "", brokenOff()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", internal(err)
	}
	return strings.TrimSpace(line), nil
}

// errNoTerminal says that nobody can be asked.
var errNoTerminal = errors.New("standard input is no terminal")

// refused classifies the no to a person or an agent: exit code 1 with its code, and what helps.
func refused(err error) error {
	var r *gate.Refusal
	if !errors.As(err, &r) {
		return err
	}
	repair, message := "", printable(r.Message)
	if r.Code == policy.PersonUnknown {
		message = "the credential is nobody's"
	}
	for _, row := range slices.Concat(policy.ControlCodes(), policy.SystemCodes(), rest.Codes()) {
		if row.Code == r.Code {
			repair = strings.ReplaceAll(row.Repair, "`", "'")
		}
	}
	return finding(repair, "%s: %s", r.Code, message).coded(r.Code)
}
