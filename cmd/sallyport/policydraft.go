package main

import (
	"context"
	"errors"

	"sallyport/policy"
	"sallyport/wire"
)

// rulesFile is a valid policy that a tool works on, wherever it lies and whoever owns it: it is not in force there.
type rulesFile struct {
	in   installation
	path string
	raw  []byte
	policy.Either
}

// readRules reads the policy at a path, on standard input where that is -, or where there is no path the one in force.
// What is not valid is a problem of usage that says everything that is wrong, since there is nothing to work on.
func (a *app) readRules(ctx context.Context, path string) (rulesFile, error) {
	in, err := a.installation()
	if err != nil {
		return rulesFile{}, err
	}
	f := rulesFile{in: in, path: path}
	switch path {
	case "":
		return a.rulesInForce(ctx, in)
	case "-":
		f.path = "standard input"
		f.raw, err = readLimited(interruptible(ctx, a.stdin), f.path)
	default:
		f.raw, err = readPolicyDraft(ctx, path)
	}
	var p *problem
	switch {
	case errors.As(err, &p):
		return f, p
	case err != nil:
		return f, usage("A policy is a small JSON file.", "the policy cannot be read: %s", plain(err))
	}
	return f.load()
}

// rulesInForce reads the policy of the data directory, or of the daemon that is configured.
func (a *app) rulesInForce(ctx context.Context, in installation) (rulesFile, error) {
	v, cfg, err := a.view(ctx)
	if err != nil {
		return rulesFile{}, err
	}
	f := rulesFile{in: in, path: cfg.Policy, raw: v.Raw}
	if f.path == "" {
		f.path = "the policy of the daemon"
	}
	if v.Reason != nil {
		return f, usage(policyRepair(v.Reason, cfg.Policy), "%s: %s", v.Reason.Code, policyText(v)).coded(v.Reason.Code)
	}
	return f.load()
}

func (f rulesFile) load() (rulesFile, error) {
	var err error
	if f.Either, err = policy.Load(f.raw, f.in.world()); err != nil {
		return f, f.invalid(err)
	}
	return f, nil
}

// invalid says what is wrong with a file, each thing on a line of its own.
func (f rulesFile) invalid(err error) *problem {
	text := plain(err)
	var wrong *policy.ConfigError
	if errors.As(err, &wrong) {
		text = notValid(showPath(f.path), wrong.Problems)
	}
	return usage("Correct it; 'sallyport policy validate' says whether a file is valid.", "%s: %s", policy.PolicyInvalid, text).coded(policy.PolicyInvalid)
}

// version is the version of the file.
func (f rulesFile) version() string {
	if f.V2 != nil {
		return "2"
	}
	return "1"
}

// appendJSON appends which file it is.
func (f rulesFile) appendJSON(b []byte) []byte {
	b = wire.AppendText(append(b, '{'), "path", f.path)
	b = wire.AppendText(b, "sha256", hashOf(f.raw))
	return append(append(wire.AppendName(b, "version"), f.version()...), '}')
}

// asVersion2 returns the rules as version 2 has them. Of a policy of version 1 they are what convert writes, which means
// otherwise in the points that are named.
func (f rulesFile) asVersion2() (b *policy.Rulebook, differences []string, err error) {
	if f.V2 != nil {
		return f.V2, nil, nil
	}
	raw, differences, err := policy.Convert(f.raw)
	if err != nil {
		return nil, nil, err
	}
	b, err = policy.ParseV2(raw, f.in.world())
	return b, differences, err
}
