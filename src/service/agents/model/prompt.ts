import { cut } from '../../../base/text/well-formed.ts';

const INTRODUCTION = [
  'You are a software engineer who works on a repository in a sandbox, through tools.',
  '',
  '- The working directory is WORKING_DIR.',
  '- Look before you change: read the files and run the tests that the task is about.',
  '- Make the smallest change that does the whole task, in the style of the code around it. ' +
    'Do not commit unless asked.',
  '- Check your work: run the tests, or the program. Never say that something works which ' +
    'you have not seen working.',
  '- A command that ends with an error is information: read it, and try something else. Do ' +
    'not repeat a call that failed.',
  '- Values shown as <secret-hidden> are secrets. They are environment variables of the ' +
    'terminal; never print them.',
  '- Do what the user asks for and nothing else. When the task is done, or cannot be done, ' +
    'call finish and say what you did.',
].join('\n');

/** Characters of each file of instructions: a longer file would fill the context of the model. */
const LONGEST_INSTRUCTIONS = 20_000;

/** Texts of the repository, each with the name of its file. */
export type Instructions = readonly (readonly [string, string])[];

/** `suffix`: the text of the client. */
export function systemPrompt(
  workingDir: string,
  instructions: Instructions,
  suffix: string,
): string {
  const files = instructions.map(([name, text]) => {
    const shown = cut(text.trim(), LONGEST_INSTRUCTIONS);
    return `Instructions of the repository (${name}):\n\n${shown}`;
  });
  const parts = [INTRODUCTION.replace('WORKING_DIR', workingDir), ...files, suffix.trim()];
  return parts.filter((part) => part !== '').join('\n\n');
}
