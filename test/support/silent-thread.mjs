// A thread that starts and never says that it is ready.
setInterval(() => {}, 60_000);
