package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sallyport/wire"
)

// version is that of this source.
const version = "0.1.0"

// commit returns the commit that the binary was built from, if it was built in.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changed"
		}
	}
	return revision + dirty
}

func printVersion(a *app) {
	a.printf("sallyport %s\n%s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if c := commit(); c != "" {
		a.printf("commit %s\n", c)
	}
}

func versionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "Print the version", GroupID: groupKeep, Args: exactly(0),
		Long:    "Print the version of Sallyport, of Go, and the commit if it was built in.",
		Example: "  sallyport version --json",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(context.Context, []string) error {
		if !a.json {
			printVersion(a)
			return nil
		}
		b := wire.AppendText([]byte{'{'}, "version", version)
		b = wire.AppendText(b, "go", runtime.Version())
		b = wire.AppendText(b, "platform", runtime.GOOS+"/"+runtime.GOARCH)
		return a.printJSON(append(wire.AppendOptional(b, "commit", commit()), '}'))
	})
}
