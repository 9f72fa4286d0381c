package main

import (
	"bufio"
	"context"

	"github.com/spf13/cobra"

	"sallyport/wire"
)

// A holder is a person or an agent: somebody with a name, and with a secret that only the owner makes and ends. The
// functions here finish the commands that both have; kind and what are the JSON names of the holder and of the secret.

// makes finishes a command by which the owner has a secret made for the holder that is named.
func makes[N ~string](a *app, c *cobra.Command, kind, what string, f func(control, context.Context, N) (secret string, err error)) *cobra.Command {
	withJSON(a, withCredential(a, c, yourCredential), "print one object")
	return a.asOwner(c, func(ctx context.Context, o control, args []string) error {
		secret, err := f(o, ctx, N(args[0]))
		return a.made(kind, what, args[0], secret, err)
	})
}

// removes finishes a command by which the owner removes the holder that is named.
func removes[N ~string](a *app, c *cobra.Command, kind string, f func(control, context.Context, N) error) *cobra.Command {
	withJSON(a, withCredential(a, c, yourCredential), "print one object")
	return a.asOwner(c, func(ctx context.Context, o control, args []string) error {
		return a.removed(kind, args[0], f(o, ctx, N(args[0])))
	})
}

// lists finishes a command that lists holders of one kind.
func lists[T any](a *app, c *cobra.Command, f func(control, context.Context) ([]T, error), appendJSON func([]byte, T) []byte, describe func([]T) string) *cobra.Command {
	withJSON(a, withCredential(a, c, listCredential), "print one object a line")
	return runs(c, func(ctx context.Context, _ []string) error {
		o, err := a.openLists(ctx)
		if err != nil {
			return err
		}
		defer o.Close()
		all, err := f(o, ctx)
		if err != nil {
			return daemonProblem(err)
		}
		return a.printLines(func(w *bufio.Writer) error {
			if a.json {
				for _, x := range all {
					w.Write(append(appendJSON(nil, x), '\n'))
				}
				return nil
			}
			w.WriteString(describe(all))
			return nil
		})
	})
}

// made shows a secret that was made, once.
func (a *app) made(kind, what, name, secret string, err error) error {
	if err != nil {
		return daemonProblem(err)
	}
	if a.json {
		b := wire.AppendText(wire.AppendText([]byte{'{'}, kind, name), what, secret)
		return a.printJSON(append(b, '}'))
	}
	a.printf("The %s of %s, shown once and kept nowhere:\n\n  %s\n", what, show(name), secret)
	return nil
}

// removed says that somebody was removed.
func (a *app) removed(kind, name string, err error) error {
	if err != nil {
		return daemonProblem(err)
	}
	if a.json {
		b := wire.AppendText([]byte{'{'}, kind, name)
		return a.printJSON(append(append(wire.AppendName(b, "removed"), "true"...), '}'))
	}
	a.printf("Removed %s.\n", show(name))
	return nil
}
