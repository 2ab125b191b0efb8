import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { loadJq } from 'jq-wasm';
import type { JqAnswer, JqQuestion } from './jq.ts';

const { wasm } = workerData as { wasm: string };
const jq = loadJq({ wasmBinary: readFileSync(wasm) });

parentPort?.on('message', ({ input, expression }: JqQuestion) => {
  void run(input, expression).then((answer) => parentPort?.postMessage(answer));
});

async function run(input: string, expression: string): Promise<JqAnswer> {
  try {
    // One line for each result. A text that begins with a dash would be read as a flag.
    return (await jq).raw(input, expression.startsWith('-') ? ` ${expression}` : expression, [
      '-c',
    ]);
  } catch {
    return {
      stdout: '',
      stderr: 'the expression needs too much memory, or calls itself too often',
      exitCode: 5,
    };
  }
}
