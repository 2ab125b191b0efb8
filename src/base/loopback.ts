/** A host as URLs name it, with or without the brackets of IPv6. */
export function isLoopbackHost(host: string): boolean {
  return /^((.+\.)?localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** Whether what is sent there crosses a network without encryption. */
export function isUnencrypted({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isLoopbackHost(hostname);
}

/** A host of this machine without a scheme means http: its servers rarely have a certificate. */
export function withLoopbackScheme(text: string): string {
  const host = /^([\w.-]+|\[[\da-f:]+\])(:\d+)?(\/|$)/i.exec(text.trim())?.[1];
  return host !== undefined && isLoopbackHost(host) ? `http://${text.trim()}` : text;
}
