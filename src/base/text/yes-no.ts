export const YES_OR_NO = 'answer y, yes, n or no';

/** Null for any other text than y, yes, n and no. */
export function readYesNo(text: string): 'yes' | 'no' | null {
  const [, yes, no] = /^\s*(?:(y|yes)|(n|no))\s*$/i.exec(text) ?? [];
  return yes ? 'yes' : no ? 'no' : null;
}
