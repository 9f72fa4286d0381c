package main

import (
	"context"
	"slices"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// policy examines the policy in force; without a gate only whether it is valid.
func (e *examination) policy(v *gate.PolicyView) {
	const name = "policy"
	if v == nil {
		raw, refused, err := readOwned(e.cfg.Policy)
		v = &gate.PolicyView{Reason: &policy.Reason{Code: policy.PolicyUnreadable, Message: refused}}
		switch {
		case err == nil:
			*v = installationOf(e.home, e.cfg).draft(e.app, raw)
		case refused == "":
			v.Reason.Message = err.Error()
		}
	}
	if v.Reason != nil {
		e.finding(name, policyRepair(v.Reason, e.cfg.Policy), "%s", policyText(*v))
		return
	}
	e.ok(name, "valid, SHA-256 %s", clip(v.SHA256, 22))
	for _, w := range warningsOf(v.Policy) {
		e.note(name, "%s", w)
	}
	if v.Book != nil {
		e.bounds(v.Book)
		e.world(v.Book)
	}
}

// hooks says what a hook cannot judge, of the accounts of the guards whose fills nobody tells.
func (e *examination) hooks(v gate.PolicyView) {
	denied := "every sell is denied there"
	if v.Book != nil {
		denied += ", and so is what a limit of positions, exposure, leverage, losses or drawdown judges"
	}
	var told []trade.Account
	for _, g := range e.cfg.Guards {
		d, known := dialect.Find(g.Dialect)
		if !known {
			continue
		}
		account := g.Account
		if account == "" {
			account = d.Account
		}
		if account == paperAccount || slices.Contains(told, account) {
			continue
		}
		told = append(told, account)
		e.note("hooks", "nobody tells Sallyport what the account %s holds, so %s", show(string(account)), denied)
	}
}

// prepared says whether a process that has no time to find out that the policy is sound can read it in the journal.
func (e *examination) prepared(ctx context.Context, g *gate.Gate, v gate.PolicyView) {
	if v.Reason != nil {
		return
	}
	switch ready, err := g.Prepared(ctx); {
	case err != nil:
		e.finding("policy", "Try again; see that the disk is in order.", "whether it is on record cannot be read: %s", plain(err))
	case !ready:
		e.note("policy", "that it is sound is not on record yet, so a hook has to find it out before it answers; 'sallyport policy validate' leaves it there")
	}
}

// bounds shows of every bound of every limit that it is alive: an order that it stops, and one that it lets pass.
func (e *examination) bounds(b *policy.Rulebook) {
	const name = "limit"
	for _, p := range b.Prove() {
		what := "rule " + p.Rule + ", " + p.Limit + " " + p.Bound
		switch {
		case p.Stops == nil:
			e.finding(name, "Lower the bound, or leave it out.", "%s stops no order", what)
		case p.Passes == nil:
			e.ok(name, "%s\nstops %s\npasses nothing", what, p.Stops)
		default:
			e.ok(name, "%s\nstops %s\npasses %s", what, p.Stops, p.Passes)
		}
	}
	for _, d := range b.Dormant() {
		e.note("policy", "%s", d)
	}
}

// soonExpired is how long before the end of the calendar it is told.
const soonExpired = 90 * 24 * time.Hour

// world examines what a policy of version 2 is told of the world beside the quotes.
func (e *examination) world(b *policy.Rulebook) {
	for _, name := range b.Quotes().Sources {
		path, there := e.cfg.Sources[name]
		switch {
		case name == "file":
			if book, err := (&market.File{Path: e.cfg.Quotes}).Book(); err == nil {
				e.fresh(name, book, b.Quotes().MaxAge)
			}
		case !there:
			e.finding("quotes", "Name it under sources in "+configName+", or leave it out of the policy.", "the policy asks the source %s, and there is none of that name", name)
		default:
			if book, err := (&market.File{Path: path}).Book(); err != nil {
				e.finding("quotes", "Correct the line, or write the file anew.", "source %s: %s", name, plain(err))
			} else {
				e.ok("quotes", "source %s: %s", name, plural(uint64(book.Len()), "symbol"))
				e.fresh(name, book, b.Quotes().MaxAge)
			}
		}
	}
	calendar, err := market.NewYork()
	switch now := e.app.now(); {
	case err != nil || !calendar.Covers(now):
		e.finding("calendar", "Bring Sallyport up to date: the calendar is part of it.", "it does not cover today, so a rule that requires a session allows nothing")
	case calendar.Expires().Sub(now) < soonExpired:
		e.note("calendar", "it ends on %s; bring Sallyport up to date before", calendar.Expires().Format(time.DateOnly))
	default:
		e.ok("calendar", "until %s", calendar.Expires().Format(time.DateOnly))
	}
}

// fresh compares the newest quote of a source with how old the policy lets one be.
func (e *examination) fresh(name string, book *market.Book, most time.Duration) {
	newest, now := book.Newest(), e.app.now()
	switch age := now.Sub(newest); {
	case newest.IsZero():
		e.note("quotes", "source %s has no quote, and what needs one is denied", name)
	case age < 0:
		e.finding("quotes", "Set the clock of the feed, and write the file anew.", "source %s has a quote from the future, of %s UTC: its symbol is denied until then",
			name, newest.UTC().Format(time.DateTime))
	case age > most:
		e.note("quotes", "the newest quote of source %s is %s old, and the policy takes one of at most %s: until a newer one comes, what needs a quote is denied",
			name, age.Round(time.Second), most)
	}
}

// instruments examines what orders must fit: the venue asks it of every order, whatever the version of the policy.
func (e *examination) instruments() {
	in := installationOf(e.home, e.cfg)
	list, err := in.listed()
	switch {
	case err != nil:
		e.finding("instruments", in.repairList()+"; until then every order is refused.", "%s", plain(err))
	case list == nil:
		e.ok("instruments", "no %s; every symbol is a US equity", showPath(e.cfg.Instruments))
	default:
		e.ok("instruments", "%s", plural(uint64(list.Len()), "instrument"))
	}
}
