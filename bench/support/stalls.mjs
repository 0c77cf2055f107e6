/** Begins to watch this thread; the answer ends it, and is the longest time in ms for which the thread did not turn. */
export function watchStalls() {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return Math.round(longest);
  };
}
