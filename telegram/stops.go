package telegram

import (
	"context"

	"sallyport/gate"
	"sallyport/ledger"
)

// watchStops tells every chat of each switch that was engaged or reset, whoever did it.
func (b *Bot) watchStops(ctx context.Context) {
	stops, err := b.cfg.Gate.Stops(ctx)
	if err != nil {
		b.unreadable(ctx, err)
		return
	}
	now := map[ledger.Scope]ledger.Stop{}
	var account gate.Portfolio
	flat := ""
	look := func() { // once, and only if there is something to tell
		if flat == "" {
			account, flat = b.flat(ctx)
		}
	}
	for _, s := range stops {
		now[s.Scope] = s
		if before, known := b.board.stops[s.Scope]; !known || !before.Since.Equal(s.Since) && !before.Since.IsZero() {
			b.expect(s.Scope, 0, false)
			look()
			b.tell(stopText(s, account, flat), 0)
		}
	}
	for scope, s := range b.board.stops {
		if _, still := now[scope]; still {
			continue
		}
		b.mu.Lock()
		answered := b.told[scope]
		delete(b.told, scope)
		b.mu.Unlock()
		look()
		b.tell(resetText(s, "", "", account, flat), answered)
	}
	b.board.stops = now
}

// tell puts a message for every chat but one into the queue.
func (b *Bot) tell(text string, but int64) {
	for _, chat := range b.cfg.Chats {
		if chat != but {
			b.board.notices = append(b.board.notices, notice{chat, cutText(text, maxMessage)})
		}
	}
	if over := len(b.board.notices) - maxNotices; over > 0 {
		b.cfg.Log.Error("messages about stops could not be delivered and are dropped", "messages", over)
		b.board.notices = b.board.notices[over:]
	}
}

// post delivers what is in the queue, in order in each chat.
func (b *Bot) post(ctx context.Context) {
	var left []notice
	for _, n := range b.board.notices {
		p := b.pauseOf(n.chat)
		if ctx.Err() != nil || !p.over() {
			left = append(left, n)
			continue
		}
		if _, f := b.send(ctx, n.chat, n.text, nil); f != nil {
			p.failed(b.base, f.after)
			left = append(left, n)
			continue
		}
		p.fails = 0
	}
	b.board.notices = left
}
