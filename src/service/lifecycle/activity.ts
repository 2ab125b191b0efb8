import type { Clock } from './clock.ts';

export interface Activity {
  begin(): void;
  end(): void;
  idleSeconds(): number;
}

export function createActivity(clock: Clock): Activity {
  let open = 0;
  let lastMs = clock.now();
  return {
    begin() {
      open++;
    },
    end() {
      open--;
      lastMs = clock.now();
    },
    idleSeconds: () => (open > 0 ? 0 : Math.max(0, (clock.now() - lastMs) / 1000)),
  };
}

export function watchIdle(
  activity: Activity,
  timeoutMs: number,
  isBusy: () => boolean,
  onIdle: () => void,
) {
  if (timeoutMs <= 0) return () => undefined;
  const timer = setInterval(
    () => {
      // A run prevents the end of the service, and the time counts from the end of the run.
      if (isBusy()) {
        activity.begin();
        activity.end();
      } else if (activity.idleSeconds() * 1000 >= timeoutMs) {
        clearInterval(timer);
        onIdle();
      }
    },
    Math.min(30_000, Math.max(10, timeoutMs / 20)),
  ).unref();
  return () => {
    clearInterval(timer);
  };
}
