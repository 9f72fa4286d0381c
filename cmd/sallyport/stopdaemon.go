package main

import (
	"context"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

// How long a stop waits for the daemon.
//
//limit:cli-kill-silence A daemon that has not answered a stop within 2 seconds is not waited for: the stop file is written.
//limit:cli-kill-daemon A stop gives up on a daemon that does not answer within 20 seconds, and goes on without it.
const (
	daemonSilent = 2 * time.Second
	daemonGone   = 20 * time.Second
)

// askDaemon has the daemon stop. A daemon that hangs holds nobody up: where it is silent the stop file stands meanwhile,
// which it and every other process of the data directory heeds.
func (a *app) askDaemon(ctx context.Context, home string, cfg config, credential string, r gate.StopRequest) (rep gate.StopReport, done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, daemonGone)
	defer cancel()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		rep, done, err = a.stopByDaemon(ctx, cfg, credential, r)
	}()
	silent := time.NewTimer(daemonSilent)
	defer silent.Stop()
	select {
	case <-answered:
		return rep, done, err
	case <-silent.C:
	}
	if exists(home) {
		if path, failed := gate.WriteStopFile(home, a.stopFor(r)); failed == nil {
			a.note("the daemon does not answer yet; the stop file %s is written", showPath(path))
		}
	}
	<-answered
	return rep, done, err
}

// stopFor is what a stop file says of a request.
func (a *app) stopFor(r gate.StopRequest) ledger.Stop {
	stop := ledger.Stop{Scope: r.Scope, By: "local:" + r.Local, Reason: r.Reason, Since: a.now().UTC(), Keep: r.Keep, All: r.All && !r.Keep}
	if stop.Reason == "" {
		stop.Reason = "no reason was given"
	}
	return stop
}
