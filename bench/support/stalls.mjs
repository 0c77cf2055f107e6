/** Starts to watch this thread. The returned function ends it, and returns the longest stall in ms. */
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
