package telegram

import (
	"context"
	"strings"

	api "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"sallyport/trade"
)

// done tells the client of a call's end, and returns the failure if it was one.
func (b *Bot) done(ctx context.Context, err error) *failure {
	if err == nil {
		return nil
	}
	f := b.client.judge(err, laneOf(ctx))
	b.client.failed(f)
	return f
}

// send sends a plain message: there is no parse mode, so nothing in it is markup.
func (b *Bot) send(ctx context.Context, chat int64, text string, keys *models.InlineKeyboardMarkup) (*models.Message, *failure) {
	ctx = inLane(ctx, lane{chat: chat})
	p := &api.SendMessageParams{ChatID: chat, Text: text, LinkPreviewOptions: noPreview()}
	if keys != nil {
		p.ReplyMarkup = keys
	}
	m, err := b.api.SendMessage(ctx, p)
	if err == nil && m.ID == 0 {
		return nil, b.done(ctx, errAnswerOdd)
	}
	return m, b.done(ctx, err)
}

// edit replaces a message of ours, its buttons included. That it is so already is no failure.
func (b *Bot) edit(ctx context.Context, chat int64, message int, text string, keys *models.InlineKeyboardMarkup) (*models.Message, *failure) {
	ctx = inLane(ctx, lane{chat: chat})
	p := &api.EditMessageTextParams{ChatID: chat, MessageID: message, Text: text, LinkPreviewOptions: noPreview()}
	if keys != nil {
		p.ReplyMarkup = keys
	}
	m, err := b.api.EditMessageText(ctx, p)
	if err != nil && strings.Contains(err.Error(), "message is not modified") {
		return &models.Message{ID: message, Text: text}, nil
	}
	return m, b.done(ctx, err)
}

// maxAnswerText bounds what a pressed button answers.
//
//limit:telegram-answer-text The answer to a press has at most 200 characters, as Telegram wants it.
const maxAnswerText = 200

// answer tells the presser what became of his press. It is tried once: the message says it too.
func (b *Bot) answer(ctx context.Context, query, text string) {
	ctx = inLane(ctx, lane{method: answerMethod})
	_, err := b.api.AnswerCallbackQuery(ctx, &api.AnswerCallbackQueryParams{
		CallbackQueryID: query, Text: trade.Printable(text, maxAnswerText), ShowAlert: true,
	})
	if f := b.done(ctx, err); f != nil {
		b.cfg.Log.Warn("a press could not be answered", "error", f.text)
	}
}

// reply answers a command. It is tried once.
func (b *Bot) reply(ctx context.Context, chat int64, text string) {
	if _, f := b.send(ctx, chat, cutText(text, maxMessage), nil); f != nil {
		b.cfg.Log.Warn("a command could not be answered", "chat", chat, "error", f.text)
	}
}

func noPreview() *models.LinkPreviewOptions {
	return &models.LinkPreviewOptions{IsDisabled: api.True()}
}
