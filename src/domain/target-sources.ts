const WORDS: Readonly<Record<string, string>> = {
  flag: '--base-url',
  default: 'the default profile',
  'built-in': 'the built-in profile "local"',
  file: '--api-key-file',
  stdin: '--api-key-file -',
  command: 'the key command of the profile',
  local: 'the local service',
  prompt: 'the prompt',
  cloud: 'your choice of the cloud',
  canvas: 'your choice of Agent Canvas',
  device: 'the sign-in in the browser',
};

export interface TargetSources {
  base_url_source: string;
  key_source: string | null;
}

export function sourceWords({ base_url_source, key_source }: TargetSources): {
  base_url: string;
  key: string | null;
} {
  return {
    base_url: wordsOf(base_url_source),
    key: key_source === null ? null : wordsOf(key_source),
  };
}

function wordsOf(source: string): string {
  const [, kind, name] = /^(profile|env|file):(.+)$/.exec(source) ?? [];
  if (kind === 'profile') return `profile "${name}"`;
  return name ?? WORDS[source] ?? source;
}
