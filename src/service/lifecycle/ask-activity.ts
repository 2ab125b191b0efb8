import http from 'node:http';
import type { ServiceState } from './state-file.ts';

/** What `GET /local/activity` answers. */
export interface ServiceActivity {
  running: boolean;
  conversations_running: number;
  sandboxes_running: number;
}

const TIMEOUT_MS = 3000;

/** The activity of a service; null without a valid answer in time. */
export function askActivity(service: { state: ServiceState; key: string }): Promise<ServiceActivity | null> {
  return new Promise((resolve) => {
    const headers = { 'X-Session-API-Key': service.key };
    const options = { headers, timeout: TIMEOUT_MS, agent: false };
    const request = http.get(`${service.state.url}/local/activity`, options, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => {
        resolve(answer.statusCode === 200 ? parse(text) : null);
      });
      answer.on('error', () => {
        resolve(null);
      });
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => {
      resolve(null);
    });
  });
}

function parse(text: string): ServiceActivity | null {
  try {
    return JSON.parse(text) as ServiceActivity;
  } catch {
    return null;
  }
}
