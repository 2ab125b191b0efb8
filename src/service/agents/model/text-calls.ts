/** Answers without a call: calls that a model wrote as text, and answers that end no turn. */
import { isRecord } from '../../../protocol/shape.ts';
import { argumentsOf, toolNameOf } from './repair.ts';

export interface TextCall {
  name: string;
  input: unknown;
}

// Each alternative `$` keeps the time linear: a begin without an end is searched once.
const TAGGED = /<tool_call>(.*?)(?:<\/tool_call>|$)/gs;
const FUNCTION = /<function=([\w.-]+)>(.*?)(?:<\/function>|$)/gs;
const PARAMETER = /<parameter=([\w.-]+)>(.*?)(<\/parameter>|$)/gs;
const FENCED = /```(?:json|tool_call)?(?=\s*\{)(.*?)(```\s*)?$/gs;
const FORMS: readonly [RegExp, (match: RegExpMatchArray) => TextCall | null][] = [
  [FUNCTION, ([, name = '', body = '']) => functionCallOf(name, body)],
  [TAGGED, ([, json = '']) => callOf(json)],
  [FENCED, ([, json = '', end]) => (end === undefined ? null : callOf(json))],
];

/**
 * The calls at the end of a text and what is before them. Null: the text ends with no call of an
 * offered tool. A call within a text may be a quotation.
 */
export function callsInText(
  text: string,
  offered: ReadonlySet<string>,
): { calls: TextCall[]; before: string } | null {
  for (const [pattern, read] of FORMS) {
    const matches = [...text.matchAll(pattern)];
    const calls = matches.map(read).filter((call) => call !== null);
    const [first] = matches;
    const rest = text.replace(pattern, '').replace(/<\/?tool_call>/g, '');
    if (first === undefined || calls.length < matches.length) continue;
    if (!calls.every(({ name }) => offered.has(toolNameOf(name, offered)))) continue;
    const before = text.slice(0, first.index).replace(/<tool_call>\s*$/, '');
    if (rest.trim() === before.trim()) return { calls, before: before.trim() };
  }
  return null;
}

function callOf(json: string): TextCall | null {
  const call = argumentsOf(json);
  const { name, arguments: input = call?.['parameters'] } = call ?? {};
  return typeof name === 'string' && (isRecord(input) || typeof input === 'string')
    ? { name, input }
    : null;
}

/** Null: the body has more than whole parameters, such as the words after a quotation. */
function functionCallOf(name: string, body: string): TextCall | null {
  const parameters = [...body.matchAll(PARAMETER)];
  const rest = body.replace(PARAMETER, '').replace('</tool_call>', '');
  if (rest.trim() !== '' || parameters.some(([, , , end]) => end === '')) return null;
  const input = parameters.map(([, key = '', value = '']) => [key, value.replace(/^\n|\n$/g, '')]);
  return { name, input: Object.fromEntries(input) as Record<string, string> };
}

/** `cause` completes a sentence about the model; `request` is for the model. */
export interface Futile {
  cause: string;
  request: string;
}

const CALL = 'Call a tool to go on, or call finish with your answer.';
const EMPTY = { cause: 'gave an empty answer', request: `Your last answer was empty. ${CALL}` };
const REASONING = {
  cause: 'gave reasoning without an answer',
  request: `Your last answer had reasoning alone. ${CALL}`,
};
const LENGTH = {
  cause: 'was cut off at its limit of tokens',
  request: 'Your last answer was cut off at the limit of tokens. Call a tool, with less text.',
};
const UNREADABLE = {
  cause: 'wrote calls of tools as text that cannot be read',
  request: `Your last answer has a call as text. Use the interface for calls. ${CALL}`,
};
const PROMISE = {
  cause: 'named a next step and called no tool',
  request: `Your last answer names a next step and has no call. ${CALL}`,
};

const MARKS = /<\/?tool_call>|<function=[\w.-]+>/;
/** The last sentence names what the model does next, as in "Let me first look at the tests." */
const NEXT_STEP =
  /^(?:let me|i(?:['’]| wi)ll|i(?:['’]m| am) going to)\s+(?!(?:know|be|wait|leave|stop)\b)/i;
const BEFORE_IT = /^(?:(?:first|now|next|then|ok(?:ay)?|sure|great|so)\b[,.!]?\s+)*/i;

/** Why an answer without a call does not end the turn; null: it does. */
export function futileAnswer(answer: {
  text: string;
  reasoning: string;
  isCutOff: boolean;
}): Futile | null {
  const text = answer.text.trim();
  if (answer.isCutOff) return LENGTH;
  if (text === '') return answer.reasoning.trim() === '' ? EMPTY : REASONING;
  if (MARKS.test(text)) return UNREADABLE;
  const sentence = text.split(/\n+|(?<=[.!?])\s+/).at(-1) ?? '';
  const isNextStep = NEXT_STEP.test(sentence.replace(BEFORE_IT, ''));
  return isNextStep && !sentence.endsWith('?') ? PROMISE : null;
}
