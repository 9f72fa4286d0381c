package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/wire"
)

func peopleCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "people", Short: "Say who may approve, reset and administer", GroupID: groupControl,
		Long: `A person is known by a credential of their own: it is shown once, when it is made,
and only its hash is kept. init makes the owner's, once in the life of a data
directory; only the owner adds, removes and rotates people and agents. A person
approves proposals only as a listed approver. Neither a terminal nor the operating
system's user proves who somebody is.

The commands work in the data directory. Where it is another user's, they go to
the daemon that SALLYPORT_PEOPLE names, such as unix:/PATH/run/people.sock.`,
		Example: `  sallyport people init
  sallyport people add kim --approver
  sallyport people list`,
	}
	return parent(c, peopleInitCommand(a), peopleAddCommand(a), peopleRemoveCommand(a), peopleRotateCommand(a), peopleListCommand(a))
}

func peopleInitCommand(a *app) *cobra.Command {
	terms := gate.PersonTerms{Approver: true}
	c := &cobra.Command{
		Use: "init [NAME]", Short: "Make the owner, once, and show the credential", Args: between(0, 1),
		Long: `Make the owner of this data directory, who is an approver too, and show the
credential: once, since only its hash is kept. It works once in the life of a data
directory, and only on a terminal, so that no program runs it by accident. NAME is
by default yours at this machine.`,
		Example: "  sallyport people init\n  sallyport people init kim --credential-fd 3 3>kim.credential",
	}
	withTelegramID(c, &terms)
	withCredential(a, c, "write the credential to the open file descriptor `N`; then no terminal is needed")
	return runs(c, func(ctx context.Context, args []string) error {
		if terms.Name = person(); len(args) == 1 {
			terms.Name = args[0]
		}
		if !isName(terms.Name) && len(args) == 0 {
			terms.Name = "owner"
		}
		if err := a.canShowOwner(); err != nil {
			return err
		}
		g, _, err := a.openGate(ctx, founding)
		if err != nil {
			return err
		}
		defer g.Close()
		secret, err := g.MakeOwner(ctx, terms)
		if err != nil {
			return daemonProblem(err)
		}
		return a.showOwner(terms.Name, secret)
	})
}

func withTelegramID(c *cobra.Command, terms *gate.PersonTerms) {
	c.Flags().Int64Var(&terms.Telegram, "telegram-id", 0, "the person's user id at Telegram, `N`")
}

// canShowOwner makes sure, before the owner is made, that the credential will reach somebody.
//
//limit:cli-owner-terminal The owner is made on a terminal only, or with a file descriptor that says where the credential goes.
func (a *app) canShowOwner() error {
	if f := a.secret.file; f != nil {
		if _, err := syscall.Write(int(f.Fd()), nil); err != nil {
			return usage("Open it for writing: 3>FILE.", "the credential cannot be written to descriptor %s: %s", a.secret.text, plain(err))
		}
		return nil
	}
	if !isTerminal(a.stdin) || !isTerminal(a.stdout) {
		return usage("Run it on a terminal, or say with --credential-fd N where the credential goes.", "the owner is made on a terminal, and this is none")
	}
	return nil
}

func (a *app) showOwner(name, secret string) error {
	if f := a.secret.file; f != nil {
		if _, err := fmt.Fprintln(f, secret); err != nil {
			return internal(fmt.Errorf("the owner was made, and the credential could not be written: %w", err))
		}
		if err := f.Close(); err != nil {
			return internal(fmt.Errorf("the owner was made, and the credential could not be written: %w", err))
		}
		a.printf("%s is the owner. The credential was written to descriptor %s.\n", name, a.secret.text)
		return nil
	}
	a.printf("%s is the owner. This is the credential, shown once and kept nowhere:\n\n  %s\n\n%s", name, secret,
		indent("", "Put it where no agent can read it, such as a password manager. Then 'sallyport agents add NAME --tier N' lets an agent in, and 'sallyport serve' starts the daemon."))
	return nil
}

func peopleAddCommand(a *app) *cobra.Command {
	var terms gate.PersonTerms
	c := &cobra.Command{
		Use: "add NAME", Short: "Add a person and show the new credential", Args: exactly(1),
		Long: `Add a person and show the credential that is made for them, once. Only the owner
may. With --approver their approvals count.`,
		Example: "  sallyport people add kim --approver\n  sallyport people add lee --approver --telegram-id 4711",
	}
	c.Flags().BoolVar(&terms.Approver, "approver", false, "this person's approvals count")
	withTelegramID(c, &terms)
	return makes(a, c, "person", "credential", func(o control, ctx context.Context, name string) (string, error) {
		terms.Name = name
		return o.AddPerson(ctx, terms)
	})
}

func peopleRotateCommand(a *app) *cobra.Command {
	return makes(a, &cobra.Command{
		Use: "rotate NAME", Short: "Give a person a new credential; the old one ends", Args: exactly(1),
		Long:    "Give a person, the owner included, a new credential, shown once. The old one ends at\nonce. Only the owner may.",
		Example: "  sallyport people rotate kim",
	}, "person", "credential", control.RotatePerson)
}

func peopleRemoveCommand(a *app) *cobra.Command {
	return removes(a, &cobra.Command{
		Use: "remove NAME", Short: "End a person's rights", Args: exactly(1),
		Long:    "End a person's rights at once. Only the owner may; the owner cannot be removed.",
		Example: "  sallyport people remove kim",
	}, "person", control.RemovePerson)
}

func peopleListCommand(a *app) *cobra.Command {
	return lists(a, &cobra.Command{
		Use: "list", Short: "List the people", Args: exactly(0),
		Long:    "List everybody with a credential, and what each may do.",
		Example: "  sallyport people list --json",
	}, control.People, appendPerson, describePeople)
}

func describePeople(all []ledger.Person) string {
	if len(all) == 0 {
		return "Nobody is listed, so nothing can be approved. The owner comes first:\n  sallyport people init\n"
	}
	rows := [][]string{{"NAME", "TELEGRAM", "MAY"}}
	for _, p := range all {
		telegram := "-"
		if p.Telegram != 0 {
			telegram = fmt.Sprint(p.Telegram)
		}
		rows = append(rows, []string{show(p.Name), telegram, strings.Join(rights(p), ", ")})
	}
	return table(rows)
}

// rights says what a person may do.
func rights(p ledger.Person) (words []string) {
	if p.Owner {
		words = append(words, "administer")
	}
	if p.Approver {
		words = append(words, "approve")
	}
	return append(words, "stop", "reset")
}

func appendPerson(b []byte, p ledger.Person) []byte {
	b = wire.AppendText(append(b, '{'), "name", p.Name)
	b = append(wire.AppendName(b, "owner"), trueOrFalse(p.Owner)...)
	b = append(wire.AppendName(b, "approver"), trueOrFalse(p.Approver)...)
	if p.Telegram != 0 {
		b = fmt.Append(wire.AppendName(b, "telegram_id"), p.Telegram)
	}
	return append(b, '}')
}
