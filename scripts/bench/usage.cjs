// Loaded before a program of the bench: at its exit it writes what the process used to descriptor
// 3, as JSON.
const { writeSync } = require('node:fs');

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  writeSync(
    3,
    JSON.stringify({ cpuMs: (userCPUTime + systemCPUTime) / 1000, rssMb: maxRSS / 1024 }),
  );
});
