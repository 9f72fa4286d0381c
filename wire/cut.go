package wire

// Cut returns the bytes of the value that begins at an offset of a text, such as Value.Offset. The text must have been
// read without an error, so that its brackets match.
func Cut(text []byte, offset int) []byte {
	depth, quoted := 0, false
	for i := offset; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
			continue
		case c == '"':
			quoted = !quoted
		case quoted:
			continue
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		case depth > 0 || c != ',' && c != ' ' && c != '\t' && c != '\r' && c != '\n':
			continue // of a number or a word
		}
		switch {
		case quoted || depth > 0:
		case depth < 0 || text[i] != '"' && text[i] != '}' && text[i] != ']':
			return text[offset:i]
		default:
			return text[offset : i+1]
		}
	}
	return text[offset:]
}
