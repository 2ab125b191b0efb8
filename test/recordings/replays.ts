/**
 * The local service has no model: a recorded conversation becomes one that is started with a small replay, which does
 * what the scripted model of the recordings did on the words of each message.
 */
import { isCut, isObject, type Exchange, type Json } from './exchanges.ts';

const run = (command: string): Json => ({ action: 'run', args: { command } });
const finish = (text: string): Json => ({ action: 'finish', args: { final_thought: text } });

const TURNS: Record<string, Json[]> = {
  QUICK: [finish('Done at once.')],
  PLAIN: [{ action: 'message', source: 'agent', args: { content: 'A plain answer.', wait_for_response: true } }],
  WORK: [run('ls -la'), run('echo hello from the agent > hello.txt'), finish('All done.')],
  SLOW: [run('sleep 2; date'), finish('All done.')],
  RISKY: [
    {
      kind: 'ActionEvent',
      source: 'agent',
      security_risk: 'HIGH',
      thought: [],
      action: { kind: 'TerminalAction', command: 'echo carried out > risky.txt' },
    },
    finish('All done.'),
  ],
  LOOP: Array.from({ length: 30 }, () => run('echo again')),
  COUNT: Array.from({ length: 200 }, (_, index) => run(`sleep 0.1; echo round ${index + 1}`)),
};
const WORD = /\b(QUICK|PLAIN|WORK|SLOW|RISKY|LOOP|COUNT|FAIL\d*)\b/g;
const SPARE = Array.from({ length: 4 }, () => 'QUICK');

/** The text of a trajectory that answers every message of a recorded conversation; null for a body that is none. */
export function replayFor(exchange: Exchange, later: Exchange[]): string | null {
  if (!isObject(exchange.request.body)) return null;
  // Of a long trajectory only the beginning was recorded.
  const given = exchange.request.body['replay_json'];
  if (given !== undefined && !isCut(given)) return null;
  const id = conversationOf(exchange, later);
  const messages = later.filter(({ request }) => request.method === 'POST' && id !== null && request.path.includes(id));
  const words = [exchange, ...messages].flatMap(({ request }) => wordsIn(request.body));
  const turns = [...(words.length === 0 ? ['QUICK'] : words), ...SPARE].map((word) => TURNS[word] ?? []);
  const spoken = { action: 'message', source: 'user', args: { content: 'go on' } };
  return JSON.stringify(turns.flatMap((turn, index) => (index === 0 ? turn : [spoken, ...turn])));
}

function wordsIn(body: Json): string[] {
  return [...JSON.stringify(body).matchAll(WORD)].map(([word]) => word);
}

/** The id that the recorded conversation got: told at once (V0) or by its start task when that was ready. */
function conversationOf({ answer }: Exchange, later: Exchange[]): string | null {
  if (!isObject(answer.body)) return null;
  const { conversation_id: told, id: task } = answer.body;
  if (typeof told === 'string') return told;
  for (const { answer: polled } of later) {
    const [record] = Array.isArray(polled.body) ? polled.body : [];
    if (isObject(record) && record['id'] === task && typeof record['app_conversation_id'] === 'string') {
      return record['app_conversation_id'];
    }
  }
  return null;
}
