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
written with a new journal. Running it again changes nothing.

Other commands that execute orders make the same on first use, so init is only
needed to edit the policy before the first order.`,
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
			return a.printJSON(r.appendJSON(nil))
		}
		return a.printLines(func(w *bufio.Writer) error {
			w.WriteString(r.describe())
			return nil
		})
	})
}

// writeSample writes the sample quotes, if there is no such file.
func writeSample(path string) (wrote bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateMode)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, usage("Name a directory that exists in the configuration's quotes.", "the sample quotes cannot be written: %v", err)
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
	state := "was there already; nothing was changed"
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
		rows[3][1] = string(r.Policy.Reason.Code)
	}
	if r.Sample {
		rows = append(rows, []string{"quotes", showPath(r.Config.Quotes) + ", a sample"})
	}
	text := table(rows)
	if r.Policy.Reason != nil {
		return text + "\n" + indent("", printable(r.Policy.Reason.Message))
	}
	return text + `
Edit the policy to your limits; an edit holds from the next order on. Then try

  sallyport order '{"symbol":"AAPL","side":"buy","quantity":"10",
      "order_type":"limit","limit_price":"150.00"}'
  sallyport hook print claude
`
}

func (r initResult) appendJSON(b []byte) []byte {
	b = wire.AppendText(append(b, '{'), "data_dir", r.Home)
	b = append(wire.AppendName(b, "created"), trueOrFalse(r.New)...)
	b = wire.AppendText(b, "policy", r.Config.Policy)
	b = wire.AppendOptional(b, "policy_sha256", r.Policy.SHA256)
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
		Example: "  sallyport backup journal-2026-11-30.db",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		path, err := filepath.Abs(args[0])
		if err != nil {
			return usage("Name a new file.", "%v", err)
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
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return usage("Name a file in a directory that exists and that this user can write.", "%v", err)
		case err != nil:
			return err
		}
		fi, err := os.Stat(path)
		if err != nil {
			return err
		}
		if a.json {
			b := wire.AppendText([]byte{'{'}, "file", path)
			b = wire.AppendText(b, "bytes", uintText(uint64(fi.Size())))
			return a.printJSON(append(b, '}'))
		}
		a.printf("Copied the journal into %s, %s bytes.\n", showPath(path), count(uint64(fi.Size())))
		return nil
	})
}
