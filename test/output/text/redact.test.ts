import { expect, test } from 'vitest';
import { createRedactor } from '../../../src/base/text/redact.ts';

const KEY = 'kq7/Zr+x "9" ü\\n';
const { text } = createRedactor([KEY, 'abc', '']);

test.each([
  ['as it is', KEY],
  ['inside JSON', JSON.stringify({ note: `x ${KEY} y` })],
  ['inside JSON inside JSON', JSON.stringify({ body: JSON.stringify({ note: KEY }) })],
  ['URL-encoded', `https://host.example/?q=${encodeURIComponent(KEY)}&b=1`],
  [
    'URL-encoded in lower case',
    encodeURIComponent(KEY).replace(/%../g, (code) => code.toLowerCase()),
  ],
  ['URL-encoded as a form', encodeURIComponent(KEY).replaceAll('%20', '+')],
  ['as a path of a URL', encodeURI(KEY)],
  ['in base 64', Buffer.from(KEY).toString('base64')],
  ['in base 64 for URLs', Buffer.from(KEY).toString('base64url')],
  ['in a header', `X-Session-API-Key: ${KEY}`],
  ['twice', `${KEY} and ${KEY}`],
  ['among colours', `\x1b[31m${KEY}\x1b[0m`],
])('a known secret is never printed: %s', (_, written) => {
  const redacted = text(written);
  expect(redacted).toContain('<redacted>');
  for (const part of ['kq7', 'Zr', 'a3E3', '9"', '%229%22']) expect(redacted).not.toContain(part);
});

test.each([
  ['git clone https://user:t0ken@github.com/o/r', 'git clone https://<redacted>@github.com/o/r'],
  ['https://t0ken@github.com/o/r', 'https://<redacted>@github.com/o/r'],
  ['postgres://u:p@ss@db/x', 'postgres://<redacted>@db/x'],
  [
    'wss://h/sockets?session_api_key=s3&resend_all=true',
    'wss://h/sockets?session_api_key=<redacted>&resend_all=true',
  ],
  ['https://h/?tkn=a1&folder=/w', 'https://h/?tkn=<redacted>&folder=/w'],
  ['?next=%3Faccess_token%3Dabc%26b', '?next=%3Faccess_token%3D<redacted>%26b'],
  ['"url":"http://h/?token=a\\u0026b=1"', '"url":"http://h/?token=<redacted>\\u0026b=1"'],
  ['https://h/#access_token=abc', 'https://h/#access_token=<redacted>'],
  ['https://h/?sig=abc%2F&se=1', 'https://h/?sig=<redacted>&se=1'],
  ['{"llm_api_key": "a\\"b", "n": 1}', '{"llm_api_key": "<redacted>", "n": 1}'],
  [
    '"{\\"session_api_key\\":\\"a\\",\\"n\\":1}"',
    '"{\\"session_api_key\\": \\"<redacted>\\",\\"n\\":1}"',
  ],
  ["{'password': 'hunter2', 'n': 1}", "{'password': '<redacted>', 'n': 1}"],
  ['Authorization: Bearer abc', 'Authorization: <redacted>'],
  ['authorization: Basic dTpw', 'authorization: <redacted>'],
  ['sent Bearer eaf3b1c0d2e4f5', 'sent Bearer <redacted>'],
  ['x-session-api-key: abc', 'x-session-api-key: <redacted>'],
  ['Cookie: session=1', 'Cookie: <redacted>'],
  [
    '{"a":"x\\nA_TOKEN=abc\\nghp_0123456789abcdefghij"}',
    '{"a":"x\\nA_TOKEN=<redacted>\\n<redacted>"}',
  ],
  ['export LLM_API_KEY="abc def"; run', 'export LLM_API_KEY=<redacted>; run'],
  ['GITHUB_TOKEN=abc make', 'GITHUB_TOKEN=<redacted> make'],
  ['serve --api-key abc123 --port 1', 'serve --api-key <redacted> --port 1'],
  ['ghp_0123456789abcdefghij', '<redacted>'],
  ['github_pat_0123456789abcdefghij', '<redacted>'],
  ['glpat-0123456789abcdefghij', '<redacted>'],
  ['sk-proj-0123456789abcdefghij', '<redacted>'],
  ['xoxb-123456789012-abcdef', '<redacted>'],
  ['gho_0123456789abcdef ghu_0123456789abcdef', '<redacted> <redacted>'],
  ['ghs_0123456789abcdef,ghr_0123456789abcdef', '<redacted>,<redacted>'],
  ['sk-0123456789abcdef', '<redacted>'],
  ['xoxp-1234567890', '<redacted>'],
  [`AIza${'Ab1-_'.repeat(7)}`, '<redacted>'],
  [`npm_${'aB3'.repeat(12)}`, '<redacted>'],
  [`hf_${'aB3'.repeat(10)}`, '<redacted>'],
  ['eyJhbGciOiJIU.eyJzdWIiOiIxMj.SflKxwRJSM', '<redacted>'],
  ['-----BEGIN PRIVATE KEY-----\nMII\ncut off', '-----BEGIN PRIVATE KEY-----<redacted>'],
  ['https://h/?a=1;api_key=abc;b=2#x', 'https://h/?a=1;api_key=<redacted>;b=2#x'],
  [
    'https://h/?X-Amz-Credential=abc&key-name=x&X-Amz-Signature=abc',
    'https://h/?X-Amz-Credential=<redacted>&key-name=x&X-Amz-Signature=<redacted>',
  ],
  ['https://h/?a=1&signature=abc', 'https://h/?a=1&signature=<redacted>'],
  ['"tokens": "a", "ACCESS-KEY" : "b"', '"tokens": "<redacted>", "ACCESS-KEY" : "<redacted>"'],
  ["{'client_secret': 'cut off", "{'client_secret': '<redacted>'"],
  [
    '-----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY----- and more',
    '-----BEGIN EC PRIVATE KEY-----<redacted>-----END EC PRIVATE KEY----- and more',
  ],
  ['sent Bearer   eaf3b1c0d2e4f5', 'sent Bearer   <redacted>'],
  ['authorization  :  abcdefg1', 'authorization  :  <redacted>'],
  ['Authorization: Bearer   abc', 'Authorization: <redacted>'],
  ['x-api-key  :  abc', 'x-api-key  :  <redacted>'],
  ['cookie:   session=1', 'cookie:   <redacted>'],
  ['(eyJhbGciOiJIU.eyJzdWIiOiIxMj.SflKxwRJSM)', '(<redacted>)'],
  ['Authorization: Token abc; x', 'Authorization: <redacted>; x'],
  ["authorization='Digest abc'", "authorization='<redacted>'"],
  ['authorization: abcdefg1', 'authorization: <redacted>'],
  ['a bearer abcdefghijk1, b', 'a bearer <redacted>, b'],
  ['X-API-Key: abc', 'X-API-Key: <redacted>'],
  ['x-access-token=abc', 'x-access-token=<redacted>'],
  ['x-auth-token: "abc"', 'x-auth-token: "<redacted>"'],
  ['Private-Token: abc', 'Private-Token: <redacted>'],
  ['Cookie: theme=dark; session=abc, x\nnext', 'Cookie: <redacted>\nnext'],
  ["curl -H 'Set-Cookie: a=1; b=2' url", "curl -H 'Set-Cookie: <redacted>' url"],
  ["export PG_PASSWORD='a b' A_KEY=abc", 'export PG_PASSWORD=<redacted> A_KEY=<redacted>'],
  [
    'MY_PASSWD=ab|cat; GOOGLE_CREDENTIALS=x&',
    'MY_PASSWD=<redacted>|cat; GOOGLE_CREDENTIALS=<redacted>&',
  ],
  [
    'run --password=hunter2 --client-secret "a b" -token abc123',
    'run --password=<redacted> --client-secret <redacted> -token <redacted>',
  ],
  ["--db-password 'a b'", '--db-password <redacted>'],
  [
    '-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----',
    '-----BEGIN RSA PRIVATE KEY-----<redacted>-----END RSA PRIVATE KEY-----',
  ],
])('a secret is found by its context or form: %s', (written, redacted) => {
  expect(text(written)).toBe(redacted);
  expect(text(redacted)).toBe(redacted);
});

test.each([
  'commit 1b632040df0e2b15a3c4d5e6f708192a3b4c5d6e changed 3 files',
  'Bearer authentication is what this server wants',
  'authorization required: the token is missing',
  'const token = await readToken(); if (token === null) return;',
  'tokens: 120 in, 30 out; "tokens":{"input":120,"output":30}',
  'task-sk-learn, disk-usage-of-every-folder-here',
  'run it with --token or --api-key <key>',
  'GET /search?limit=30&page_token=cGFnZTI&next_page_token=x',
  'GET ' +
    '/search?pageToken=a&page-token=b&continuation_token=c&continuationToken=d&nextToken=e&next-token=f',
  'ssh://git@github.com/owner/name.git and git@github.com:owner/name.git',
  'API_KEY=$API_KEY TOKEN="$TOKEN" make',
  '日本語 の password について',
  'id 3f2504e04f8941d39a0c0305e82c3301',
])('ordinary text is unchanged: %s', (written) => {
  expect(text(written)).toBe(written);
});

test('a short secret is not searched in text, where it would match words', () => {
  expect(text('abcdef abc')).toBe('abcdef abc');
});

test('a secret of eight characters is searched, with blanks around it or without', () => {
  const { text: shown } = createRedactor([' s3cr3t-k\n', '  s3cr3t  ']);
  expect(shown('[s3cr3t-k] s3cr3t')).toBe('[<redacted>] s3cr3t');
});

test('a secret that begins with another one is replaced as a whole, in any order', () => {
  for (const secrets of [
    ['key-no-1', 'key-no-1-and-more'],
    ['key-no-1-and-more', 'key-no-1'],
  ])
    expect(createRedactor(secrets).text('key-no-1 key-no-1-and-more')).toBe(
      '<redacted> <redacted>',
    );
});

test('a URL keeps every part that is not secret', () => {
  expect(text('https://u:p@host.example:8443/a/b?limit=3&api_key=x#top')).toBe(
    'https://<redacted>@host.example:8443/a/b?limit=3&api_key=<redacted>#top',
  );
});

test.each([
  ['names', 'token'.repeat(40_000)],
  ['schemes', '://'.repeat(60_000)],
  ['backslashes', `${'\\'.repeat(200_000)}token`],
  ['open quotes', "\\'token\\': \\'".repeat(8000)],
  ['keys without end', '-----BEGIN PRIVATE KEY-----'.repeat(8000)],
  ['flags', '--token '.repeat(30_000)],
  ['dots', `${'a.'.repeat(90_000)}token=`],
  ['bearers', `${'bearer '.repeat(20_000)}${'a'.repeat(90_000)}`],
])('text constructed for slow matching is fast: %s', (_, hostile) => {
  // The bound is the test's own time-out; a quadratic expression would take minutes.
  expect(text(hostile.repeat(4)).length).toBeGreaterThan(0);
});
