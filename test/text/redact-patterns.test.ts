/** Looking only where something may be found must find what looking everywhere finds. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/text/redact.ts';
import { shownArguments } from '../../src/text/redact-arguments.ts';
import { RULES } from '../../src/text/redact-patterns.ts';
import { canonicalName, isMcpName, isSecretMap, isSecretName } from '../../src/text/secret-names.ts';

const KEY = 'kQ7+zR/9x"2 ü';

/** Every rule on every text. */
function plainText(text: string): string {
  let result = text;
  for (const form of formsOf(KEY)) result = result.replaceAll(form, '<redacted>');
  for (const { pattern, replacement } of RULES) result = result.replace(pattern, replacement as string);
  return result;
}

function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const percent = encodeURIComponent(secret);
  const bytes = Buffer.from(secret);
  return [
    JSON.stringify(json).slice(1, -1),
    json,
    secret,
    percent,
    percent.replace(/%../g, (code) => code.toLowerCase()),
    percent.replaceAll('%20', '+'),
    encodeURI(secret),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ].sort((a, b) => b.length - a.length);
}

type Inside = 'open' | 'map' | 'entry';
const DESCRIBING = ['name', 'kind', 'type', 'description', 'host', 'id', 'user_id', 'provider', 'key_name'];

/** Every name judged anew, wherever it stands. */
function plainValue(value: unknown, name = '', inside: Inside = 'open', mcp = false): unknown {
  const canonical = canonicalName(name);
  if (typeof value === 'string') {
    const byName = isSecretName(name) || (mcp && canonical === 'auth');
    const isHidden = inside === 'map' || (inside === 'entry' ? !DESCRIBING.includes(canonical) : byName);
    return isHidden && value !== '' ? '<redacted>' : plainText(value);
  }
  if (typeof value === 'number') return inside === 'map' ? '<redacted>' : value;
  if (typeof value !== 'object' || value === null) return value;
  const isMcp = mcp || isMcpName(name);
  const isMap = isSecretMap(name) || isSecretName(name) || (isMcp && ['headers', 'auth'].includes(canonical));
  const onlyFigures = Object.values(value).every((each) => each === null || typeof each === 'number');
  const isEntry = inside === 'map' && !Array.isArray(value);
  const below = onlyFigures ? 'open' : isEntry ? 'entry' : isMap ? 'map' : inside;
  if (!Array.isArray(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([member, each]) => [plainText(member), plainValue(each, member, below, isMcp)]),
    );
  }
  const shown = shownArguments(value);
  return value.map((each, index) => {
    const plain = plainValue(each, '', below, isMcp);
    return plain === '<redacted>' ? plain : (shown[index] ?? plain);
  });
}

/** What genuine servers answered. */
const bodies = ['1.11.0', '1.6.0'].flatMap((release) => {
  const file = path.join(import.meta.dirname, '..', 'fixtures', 'recordings', `exchanges-${release}.jsonl`);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { response: { body: unknown } }).response.body);
});

const PLANTED = [
  KEY,
  `see ${JSON.stringify(JSON.stringify(KEY))}`,
  `https://host.example/?q=${encodeURIComponent(KEY)}`,
  'git clone https://user:t0ken@host.example/o/r',
  'wss://h/s?session_api_key=s3cret&x=1',
  '{"llm_api_key": "a\\"b", "n": 1}',
  "{'password': 'hunter2'}",
  'Authorization: Bearer abc.def',
  'sent bearer eaf3b1c0d2e4f5',
  'X-Session-API-Key: abc',
  'Set-Cookie: a=1',
  'export LLM_API_KEY="abc def"',
  'serve --api-key abc123',
  'GHP_0123456789abcdefghij ghp_0123456789abcdefghij gho_0123456789abcdefghij ghr_0123456789abcdefghij',
  'sk-proj-0123456789abcdefghij',
  'eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4',
  '-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----',
  'https://h/?sig=abc%2F&se=1',
  'a \u212aey=1, \u0130 and an ordinary sentence of right length',
  '',
];
const NAMES = ['api_key', 'LLM_API_KEY', 'secrets', 'env', 'mcp_config', 'headers', 'auth', 'tokens', '__proto__', 'x'];

/** The same on every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % below;
  };
}

/** The same document with secrets put into it here and there. */
function planted(value: unknown, random: (below: number) => number): unknown {
  const secret = () => PLANTED[random(PLANTED.length)] ?? '';
  if (typeof value === 'string') {
    const at = random(value.length + 1);
    return random(3) === 0 ? `${value.slice(0, at)}${[' ', '', '"'][random(3)]}${secret()} ${value.slice(at)}` : value;
  }
  if (Array.isArray(value)) {
    const items = value.map((each) => planted(each, random));
    return random(4) === 0 ? [...items, '--auth-token', secret()] : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, each]) => [name, planted(each, random)] as const);
  const more = random(3) === 0 ? ([[NAMES[random(NAMES.length)] ?? '', planted(secret(), random)]] as const) : [];
  const wrapped = random(8) === 0 ? ([[NAMES[random(NAMES.length)] ?? '', { inner: secret(), n: 1 }]] as const) : [];
  return Object.fromEntries([...members, ...more, ...wrapped]);
}

describe('the redaction', () => {
  const { text, value } = createRedactor([KEY]);

  it('of answers of genuine servers equals that of every rule applied to every text', () => {
    expect(bodies.length).toBeGreaterThan(100);
    for (const body of bodies) {
      expect(value(body)).toEqual(plainValue(body));
      const line = JSON.stringify(body);
      expect(text(line)).toBe(plainText(line));
    }
  });

  it('is equal, too, with secrets inserted at any place', () => {
    const random = createRandom(20_260_101);
    for (const body of bodies) {
      const document = planted(body, random);
      expect(value(document)).toEqual(plainValue(document));
      const line = JSON.stringify(document);
      expect(text(line)).toBe(plainText(line));
    }
  });

  it('does not depend on the names in the first documents', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`name_${index}`, 'x']));
    const redactor = createRedactor([]);
    redactor.value(many);
    expect(redactor.value({ new_api_key: 'a', other: 'b' })).toEqual({ new_api_key: '<redacted>', other: 'b' });
  });
});
