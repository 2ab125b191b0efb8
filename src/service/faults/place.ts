/**
 * The place of a JSON syntax error, counted from 1: `line 3, column 7: Expected double-quoted property name`. The
 * message of JSON.parse does not always contain the position; then it quotes the text around it.
 * @param message of the error of JSON.parse
 */
export function linePlace(text: string, message: string): string {
  const [position, end] = [/ in JSON at position (\d+)/.exec(message), /^Unexpected end/.test(message)];
  if (position === null && !end) return message;
  const before = text.slice(0, position === null ? text.length : Number(position[1])).split('\n');
  const words = message.replace(/ in JSON at position.*$/s, '');
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}: ${words}`;
}
