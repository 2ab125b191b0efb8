// Checks the recorded requests of test/fixtures/requests against the types of the official SDKs,
// which it installs in a temporary folder, and writes their digests to checked.json. A test fails
// when a request is not the recorded one, or was recorded after this check.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const SDKS = { '@anthropic-ai/sdk': '1.14.0', '@google/genai': '2.32.0', openai: '6.49.0' };
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.join(root, 'test/fixtures/requests');
const NAMES = ['anthropic', 'google', 'openai'];
/** The SDK of Google has types of its calls: the members of a body are in other places there. */
const CHECKS = `
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import type { Content, GenerateContentConfig, GenerationConfig } from '@google/genai';
import type {
  ResponseCreateParamsStreaming,
  ResponseInputItem,
  ResponseOutputText,
} from 'openai/resources/responses/responses';

/** A body in JSON: where the SDK has values of an enum, the documented requests have lower case. */
type Text<T extends string> = T | Lowercase<T>;
type Wire<T> = T extends string
  ? Text<\`\${T}\`>
  : T extends object ? { [K in keyof T]: Wire<T[K]> } : T;
type GoogleBody = Pick<GenerateContentConfig, 'tools' | 'toolConfig' | 'labels'> & {
  contents: Content[];
  systemInstruction: Content;
  generationConfig: GenerationConfig;
};
/** Messages of the model are sent without the id and the status, which only stored ones have. */
type OwnMessage = { role: 'assistant'; content: Pick<ResponseOutputText, 'type' | 'text'>[] };
type OpenaiBody = Omit<ResponseCreateParamsStreaming, 'input'> & {
  input: (ResponseInputItem | OwnMessage)[];
};
export const anthropic: MessageCreateParamsStreaming[] = ANTHROPIC;
export const google: Wire<GoogleBody>[] = GOOGLE;
export const openai: OpenaiBody[] = OPENAI;
`;

const texts = new Map(
  NAMES.map((name) => [name, readFileSync(path.join(folder, `${name}.json`), 'utf8')]),
);
const dir = mkdtempSync(path.join(tmpdir(), 'acs-requests-'));
try {
  writeFileSync(path.join(dir, 'package.json'), '{ "type": "module" }');
  const packages = Object.entries(SDKS).map(([name, version]) => `${name}@${version}`);
  const options = { cwd: dir, stdio: 'inherit' };
  execFileSync('npm', ['install', '--ignore-scripts', '--no-save', ...packages], options);
  const source = NAMES.reduce(
    (text, name) => text.replace(`= ${name.toUpperCase()}`, () => `= ${texts.get(name)}`),
    CHECKS,
  );
  writeFileSync(path.join(dir, 'requests.ts'), source);
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const flags = '--noEmit --strict --skipLibCheck --module nodenext --target es2023';
  execFileSync(process.execPath, [tsc, ...flags.split(' '), 'requests.ts'], options);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
const digests = NAMES.map((name) => [
  name,
  createHash('sha256').update(texts.get(name)).digest('hex'),
]);
const checked = { sdks: SDKS, digests: Object.fromEntries(digests) };
writeFileSync(path.join(folder, 'checked.json'), `${JSON.stringify(checked, null, 2)}\n`);
