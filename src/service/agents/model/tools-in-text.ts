/** Requests for models without an interface for calls: tools, calls and results are text. */
import { asSchema, type JSONSchema7, type ModelMessage, type ToolSet } from 'ai';

interface Texts {
  system: string;
  messages: ModelMessage[];
  tools: ToolSet;
}

type Parts<Role> = Exclude<Extract<ModelMessage, { role: Role }>['content'], string>;

const FORM = `To call a tool, end your answer with a call in this form, with each argument as it is,
or as JSON where it is not a text. The next message has the result.

<function=name of the tool>
<parameter=name of the argument>
value
</parameter>
</function>`;

export function inText({ system, messages, tools }: Texts): Texts {
  const joined: ModelMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === 'assistant') joined.push({ ...message, content: saidIn(message.content) });
    else if (message.role === 'system') joined.push(message);
    // Some endpoints refuse two messages of one role, such as the results of two calls.
    else if (last?.role === 'user') (last.content as Parts<'user'>).push(...inputOf(message));
    else joined.push({ role: 'user', content: inputOf(message) });
  }
  return { system: [system, ...describe(tools)].join('\n\n'), messages: joined, tools: {} };
}

function inputOf({ role, content }: ModelMessage & { role: 'user' | 'tool' }): Parts<'user'> {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (role === 'user') return [...content];
  return content.flatMap((part) => {
    if (part.type !== 'tool-result' || part.output.type !== 'text') return [];
    return [{ type: 'text', text: `Result of ${part.toolName}:\n${part.output.value}` } as const];
  });
}

function saidIn(content: string | Parts<'assistant'>): string {
  if (typeof content === 'string') return content;
  const texts = content.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type !== 'tool-call') return '';
    const written = Object.entries(part.input as Record<string, unknown>).map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return `<parameter=${name}>\n${text}\n</parameter>\n`;
    });
    return `<function=${part.toolName}>\n${written.join('')}</function>`;
  });
  return texts.filter((text) => text !== '').join('\n');
}

function describe(tools: ToolSet): string[] {
  const each = Object.entries(tools).map(([name, { description = '', inputSchema }]) => {
    const { properties, required } = asSchema(inputSchema).jsonSchema as JSONSchema7;
    return `Tool ${name}: ${description}\nArguments: ${JSON.stringify({ properties, required })}`;
  });
  return each.length === 0 ? [] : [...each, FORM];
}
