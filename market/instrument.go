package market

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// Instruments are the instruments of a venue. They do not change once they are made. The nil *Instruments have every
// symbol as a US equity.
type Instruments struct {
	listed map[trade.Symbol]trade.Instrument
}

// Of returns an instrument; ok is false if there is a list and the symbol is not on it.
//
//limit:market-instruments Where instruments are listed, a symbol that is not on the list is none.
func (l *Instruments) Of(s trade.Symbol) (i trade.Instrument, ok bool) {
	if l == nil {
		return trade.USEquity(s), s != trade.Symbol{}
	}
	i, ok = l.listed[s]
	return i, ok
}

// Len returns how many instruments are listed.
func (l *Instruments) Len() int {
	if l == nil {
		return 0
	}
	return len(l.listed)
}

// InstrumentsInvalid is the code of an instruments file that is not one.
const InstrumentsInvalid trade.Code = "INSTRUMENTS_INVALID"

// ReadInstruments reads JSON Lines of exactly
// {"symbol","asset_class","currency","tick","lot","minimum","multiplier"} and, where the tick is another under a price of
// 1, "tick_under_1". Every line must be an instrument, each symbol once; an empty file is an error, since it would list
// nothing. The error is an *Error, or what r returned.
//
//limit:market-multiplier An instrument has a multiplier of 1: positions and cash are counted in its units, and no other counts them right.
func ReadInstruments(r io.Reader) (*Instruments, error) {
	l := &Instruments{listed: map[trade.Symbol]trade.Instrument{}}
	in := bufio.NewScanner(io.LimitReader(r, MaxFile+1))
	in.Buffer(nil, MaxLine+1)
	total, line := 0, 0
	for in.Scan() {
		line++
		if total += len(in.Bytes()) + 1; total > MaxFile {
			break
		}
		i, err := parseInstrument(in.Bytes())
		if _, twice := l.listed[i.Symbol]; err == nil && twice {
			err = fmt.Errorf("%s is listed already", i.Symbol)
		}
		if err != nil {
			return nil, &Error{Code: InstrumentsInvalid, Line: line, Reason: err.Error()}
		}
		l.listed[i.Symbol] = i
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &Error{Code: InstrumentsInvalid, Line: line + 1, Reason: fmt.Sprintf("over %d bytes", MaxLine)}
	case err != nil:
		return nil, err
	case total > MaxFile:
		return nil, &Error{Code: InstrumentsInvalid, Reason: fmt.Sprintf("over %d bytes", MaxFile)}
	case len(l.listed) == 0:
		return nil, &Error{Code: InstrumentsInvalid, Reason: "no instrument is listed"}
	}
	return l, nil
}

func parseInstrument(line []byte) (i trade.Instrument, err error) {
	v, err := wire.Read(line, wire.Limits{Bytes: MaxLine, Depth: 1})
	if err != nil {
		return i, reason(err)
	}
	if v.Kind != wire.Object {
		return i, fmt.Errorf("%s, where an object is asked", v.Kind)
	}
	if name, twice := v.Duplicate(); twice {
		return i, fmt.Errorf("%q is given more than once", trade.Printable(name, 64))
	}
	for _, m := range v.Members {
		if err := instrumentField(&i, m); err != nil {
			return i, err
		}
	}
	for _, name := range [...]string{"symbol", "asset_class", "currency", "tick", "lot", "minimum", "multiplier"} {
		if _, n := v.Member(name); n == 0 {
			return i, fmt.Errorf("%s is missing", name)
		}
	}
	one := trade.Whole(1)
	switch {
	case i.Multiplier.Cmp(one) != 0:
		return i, errors.New("multiplier is not 1: contracts whose price is a part of their value are not supported yet")
	case !i.Lot.Step(i.Minimum).Fits:
		return i, errors.New("minimum is not a whole number of lots")
	case i.TickUnder1 == trade.Unit{}:
		i.TickUnder1 = i.Tick
	case !i.TickUnder1.Step(one).Fits, !i.Tick.Step(one).Fits: // else neighbours around 1 would fit on one side only
		return i, errors.New("1 is not on both ticks")
	}
	return i, nil
}

func instrumentField(i *trade.Instrument, m wire.Member) (err error) {
	text := m.Value.Kind == wire.String
	switch m.Name {
	case "symbol":
		var ok bool
		if i.Symbol, ok = trade.ParseSymbol(m.Value.Text); !ok || !text {
			return wrong(m, "is not a symbol such as AAPL")
		}
	case "asset_class":
		if i.AssetClass = m.Value.Text; !text || i.AssetClass == "" || strings.Trim(i.AssetClass, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return wrong(m, "is not a class such as us_equity")
		}
	case "currency":
		if i.Currency = m.Value.Text; !text || len(i.Currency) != 3 || strings.Trim(i.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return wrong(m, "is not a currency such as USD")
		}
	case "tick":
		i.Tick, err = unit(m)
	case "tick_under_1":
		i.TickUnder1, err = unit(m)
	case "lot":
		i.Lot, err = unit(m)
	case "minimum":
		i.Minimum, err = price(m)
	case "multiplier":
		i.Multiplier, err = price(m)
	default:
		return fmt.Errorf("%q is not a member of an instrument", trade.Printable(m.Name, 64))
	}
	return err
}

func unit(m wire.Member) (trade.Unit, error) {
	size, err := price(m)
	if err != nil {
		return trade.Unit{}, err
	}
	return trade.NewUnit(size), nil
}
