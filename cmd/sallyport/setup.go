package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/market"
	"sallyport/wire"
)

func initCommand(a *app) *cobra.Command {
	var sample bool
	c := &cobra.Command{
		Use: "init", Short: "Make the data directory, the default policy and the journal", GroupID: groupStart, Args: exactly(0),
		Long: `Make the data directory (mode 0700) with the default policy (mode 0600) and a
new journal. What is there stays as it is; the default policy is only ever
written with a new journal. Running it again changes nothing, and leaves on record
that the policy that is there is sound. Exit code 1 means that it allows nothing.

Other commands that execute orders make the same on first use, and say so; init is
only needed to edit the policy before the first order.`,
		Example: "  sallyport init\n  sallyport init --data-dir ./desk --quotes-sample",
	}
	c.Flags().BoolVar(&sample, "quotes-sample", false, "also write sample quotes for the paper venue, if there are none")
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		home, _, err := a.dataDir()
		if err != nil {
			return err
		}
		_, missing := os.Stat(filepath.Join(home, gate.JournalName))
		g, cfg, err := a.openGate(ctx, founding)
		if err != nil {
			return err
		}
		defer g.Close()
		if err := g.Prepare(ctx); err != nil {
			return a.gateProblem(err)
		}
		r := initResult{Home: home, Config: cfg, New: errors.Is(missing, fs.ErrNotExist), Policy: g.Policy()}
		if sample {
			if r.Sample, err = writeSample(cfg.Quotes); err != nil {
				return err
			}
		}
		if r.Head, err = g.Head(ctx); err != nil {
			return err
		}
		if a.json {
			return errors.Join(a.printJSON(r.appendJSON(nil)), resultIf(r.Policy.Reason != nil))
		}
		err = a.printLines(func(w *bufio.Writer) error {
			w.WriteString(r.describe())
			return nil
		})
		return errors.Join(err, inForce(r.Policy, cfg))
	})
}

// writeSample writes the sample quotes, if there is no such file.
func writeSample(path string) (wrote bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateMode)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, usage("Name a directory that exists in the configuration's quotes.", "the sample quotes cannot be written: %s", plain(err))
	}
	_, err = f.Write(market.Sample())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, errors.Join(err, os.Remove(path))
	}
	return true, nil
}

// initResult is what init found and made.
type initResult struct {
	Home   string
	Config config
	New    bool // the journal was made just now
	Sample bool // so were the quotes
	Policy gate.PolicyView
	Head   journal.Head
}

func (r initResult) describe() string {
	state := "was there already"
	if r.New {
		state = "made"
	}
	rows := [][]string{
		{"data directory", showPath(r.Home)},
		{"journal", state + ", head " + shortHead(r.Head)},
		{"policy", showPath(r.Config.Policy)},
		{"policy SHA-256", r.Policy.SHA256},
	}
	if r.Policy.Reason != nil {
		rows[3][1] = "none: " + string(r.Policy.Reason.Code)
	}
	if r.Sample {
		rows = append(rows, []string{"quotes", showPath(r.Config.Quotes) + ", a sample"})
	}
	text := table(rows)
	if r.Policy.Reason != nil {
		return text
	}
	return text + `
Edit the policy to your limits; an edit holds from the next order on. Then try

  export SALLYPORT_TIER=2        # this shell may execute; unset it only reads
  sallyport order '{"symbol":"AAPL","side":"buy","quantity":"10",
      "order_type":"limit","limit_price":"150.00"}'
  sallyport hook print claude    # guard the tools of an agent's harness
  sallyport people init          # then 'sallyport serve': people in control
`
}

func (r initResult) appendJSON(b []byte) []byte {
	b = wire.AppendText(append(b, '{'), "data_dir", r.Home)
	b = append(wire.AppendName(b, "created"), trueOrFalse(r.New)...)
	b = wire.AppendText(b, "policy", r.Config.Policy)
	b = wire.AppendOptional(b, "policy_sha256", r.Policy.SHA256)
	if r.Policy.Reason != nil {
		b = wire.AppendText(b, "code", string(r.Policy.Reason.Code))
		b = wire.AppendText(b, "message", plainText(r.Policy.Reason.Message))
		b = wire.AppendText(b, "repair", policyRepair(r.Policy.Reason, r.Config.Policy))
	}
	b = wire.AppendText(b, "quotes", r.Config.Quotes)
	b = append(wire.AppendName(b, "quotes_sample"), trueOrFalse(r.Sample)...)
	return append(wire.AppendText(b, "head", headText(r.Head)), '}')
}

func trueOrFalse(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

func backupCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "backup FILE", Short: "Copy the journal into a new file, while others write", GroupID: groupKeep, Args: exactly(1),
		Long: `Copy the journal into the new file FILE, complete up to one record, while other
processes go on. FILE must not exist. The copy is a journal: put it into an empty
data directory as journal.db to read and verify it.

The paper venue (paper.db) is not part of it, as a real broker's books would not
be. The policy and the configuration are files: copy them as such.`,
		Example:           "  sallyport backup journal-2026-11-30.db",
		ValidArgsFunction: files,
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		path, err := newFile(args[0])
		if err != nil {
			return err
		}
		g, _, err := a.openGate(ctx, reading)
		if err != nil {
			return err
		}
		defer g.Close()
		err = g.Backup(ctx, path)
		switch {
		case errors.Is(err, fs.ErrExist):
			return usage("Name a file that does not exist; a backup replaces nothing.", "%s exists", showPath(path))
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
			return usage("Name a file in a directory that this user can write.", "no file can be made in %s", showPath(filepath.Dir(path)))
		case err != nil:
			return a.gateProblem(err)
		}
		fi, err := os.Stat(path)
		if err != nil {
			return err
		}
		if a.json {
			b := wire.AppendText([]byte{'{'}, "file", path)
			b = append(wire.AppendName(b, "bytes"), uintText(uint64(fi.Size()))...)
			return a.printJSON(append(b, '}'))
		}
		a.printf("Copied the journal into %s, %s bytes.\n", showPath(path), count(uint64(fi.Size())))
		return nil
	})
}

// newFile returns the absolute path of a file that is to be made.
func newFile(name string) (string, error) {
	path, err := filepath.Abs(name)
	switch {
	case name == "-", name == "":
		return "", usage("Name a new file.", "a backup is a database file and cannot be written to standard output")
	case err != nil:
		return "", usage("Name a new file.", "%s", plain(err))
	}
	fi, err := os.Stat(filepath.Dir(path))
	if err != nil || !fi.IsDir() {
		return "", usage("Name a file in a directory that exists.", "there is no directory %s", showPath(filepath.Dir(path)))
	}
	return path, nil
}
