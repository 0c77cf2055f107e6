// A thread that starts and never reports that it is ready.
setInterval(() => {}, 60_000);
