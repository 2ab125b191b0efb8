/** Questions to a person. All reject with AppError `interrupted` on Ctrl-C. */
export interface Prompt {
  confirm(question: { message: string; default?: 'yes' | 'no' }): Promise<boolean>;
  input(question: { message: string; default?: string; validate?: (value: string) => true | string }): Promise<string>;
  select<T extends string>(question: {
    message: string;
    choices: readonly { value: T; name: string; description?: string }[];
    default?: T;
  }): Promise<T>;
  secret(question: { message: string }): Promise<string>;
  /** Opens $VISUAL or $EDITOR on the text; returns what was saved. */
  editor(question: { message: string; initial: string; extension: string }): Promise<string>;
}
