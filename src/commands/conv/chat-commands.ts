/** What a person types into `conv chat`: a message, or a command after a slash. */

/** `text` of `/reject` is the reason. */
export type ChatInput =
  | { type: 'nothing' }
  | { type: 'message'; text: string }
  | { type: 'command'; name: CommandName; text: string }
  | { type: 'unknown'; word: string };

const COMMANDS = {
  diff: 'print the changes in the workspace',
  stop: 'stop the run',
  approve: 'accept the pending action',
  reject: 'reject it; a text after it is sent to the agent as the reason',
  quit: 'leave; the conversation remains',
  help: 'print this list',
} as const;

export type CommandName = keyof typeof COMMANDS;

/** `//…` is a message that begins with a slash. */
export function readChatInput(text: string): ChatInput {
  if (text.trim() === '') return { type: 'nothing' };
  if (!text.startsWith('/')) return { type: 'message', text };
  if (text.startsWith('//')) return { type: 'message', text: text.slice(1) };
  const [, word = '', rest = ''] = /^\/(\S*)\s*([^]*)$/.exec(text) ?? [];
  const takesText = word === 'reject';
  if (!Object.hasOwn(COMMANDS, word) || (rest !== '' && !takesText)) return { type: 'unknown', word: `/${word}` };
  return { type: 'command', name: word as CommandName, text: rest.trim() };
}

/** As readChatInput, while an action is pending: `y`, `n`, or the reason of a rejection. */
export function readAnswer(text: string): ChatInput {
  const input = readChatInput(text);
  if (input.type !== 'message') return input;
  const answer = input.text.trim();
  if (/^y(es)?$/i.test(answer)) return { type: 'command', name: 'approve', text: '' };
  return { type: 'command', name: 'reject', text: /^no?$/i.test(answer) ? '' : answer };
}

export function chatHelp(): string[] {
  const commands = Object.entries(COMMANDS).map(([name, does]) => `/${name.padEnd(8)} ${does}`);
  return [
    ...commands,
    '//…       send a message that begins with a slash',
    'Enter sends; Alt-Enter, Ctrl-J, or a backslash before Enter begins a new line; Up and Down recall what was sent.',
    'Ctrl-C stops the run, and leaves when pressed again; at an empty prompt Ctrl-C and Ctrl-D leave.',
  ];
}
