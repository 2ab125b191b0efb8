/** Secrets in the arguments of a command: `--token VALUE`, `--api-key=VALUE`, `GITHUB_TOKEN=VALUE`, `X-Api-Key: VALUE`. */
import { REDACTED, canonicalName, isSecretName } from './secret-names.ts';

/** Names of flags alone: elsewhere they stand for much else. */
const SECRET_FLAG = /(?:^|_)(?:key|auth|pat|bearer|bearer_token|creds)$/;

const FLAG = /^--?([\w.-]{1,100})(=[\s\S]+)?$/;
const ASSIGNMENT = /^([\w.-]{1,100})=[\s\S]+$/;
const HEADER = /^([\w-]{1,100}):\s*[\s\S]+$/;

/**
 * What to show in place of each value of a list: null where it holds no secret of an argument. Values that are not
 * text are never arguments.
 */
export function shownArguments(values: readonly unknown[]): (string | null)[] {
  let isValueNext = false;
  return values.map((value) => {
    if (typeof value !== 'string') {
      isValueNext = false;
      return null;
    }
    if (isValueNext) {
      isValueNext = false;
      return REDACTED;
    }
    const [, name = '', given] = FLAG.exec(value) ?? [];
    const isSecret = name !== '' && isSecretFlag(name, given?.slice(1));
    isValueNext = isSecret && given === undefined;
    if (name !== '') return isSecret && given !== undefined ? `${value.slice(0, -given.length)}=${REDACTED}` : null;
    return hidden(value, ASSIGNMENT, '=') ?? hidden(value, HEADER, ': ');
  });
}

function isSecretFlag(name: string, value: string | undefined): boolean {
  const canonical = canonicalName(name);
  // `--max-tokens=4096` is a count.
  if (/tokens$/.test(canonical) && (value === undefined || /^\d+$/.test(value))) return false;
  return isSecretName(name) || SECRET_FLAG.test(canonical);
}

function hidden(value: string, form: RegExp, between: string): string | null {
  const name = form.exec(value)?.[1];
  return name !== undefined && isSecretName(name) ? `${name}${between}${REDACTED}` : null;
}
