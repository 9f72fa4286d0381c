package paper_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sallyport/broker/paper"
	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/market"
)

func TestPaperVenueKeepsTheContract(t *testing.T) {
	gatetest.TestBroker(t, func(t *testing.T) gatetest.Fixture {
		fx := gatetest.Fixture{
			Clock: gatetest.NewClock(), Fills: gatetest.Order(t, "buy", "AAPL", "10", "150.00"),
			Rests: gatetest.Order(t, "buy", "MSFT", "2", "400.00"), Refused: gatetest.Order(t, "buy", "AAPL", "10000", "150.00"),
		}
		dir := t.TempDir()
		quotes := filepath.Join(dir, "quotes.jsonl")
		if err := os.WriteFile(quotes, market.Sample(), 0o600); err != nil {
			t.Fatal(err)
		}
		open := func() *paper.Broker {
			b, err := paper.Open(context.Background(), paper.Config{
				Path: filepath.Join(dir, "paper.db"), Quotes: &market.File{Path: quotes}, Now: fx.Clock.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		b := open()
		fx.Wider = &gatetest.Wider{Symbol: fx.Fills.Symbol(), Show: func(bid, ask string) {
			line := fmt.Sprintf(`{"symbol":"AAPL","bid":%q,"ask":%q,"last":%q,"at":%q}`, bid, ask, bid, fx.Clock.Now().Format(time.RFC3339))
			if err := os.WriteFile(quotes+".new", []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(quotes+".new", quotes); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Match(context.Background()); err != nil {
				t.Fatal(err)
			}
		}}
		t.Cleanup(func() { b.Close() })
		fx.Broker = b
		fx.Reopen = func() gate.Broker {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b = open()
			return b
		}
		return fx
	})
}
