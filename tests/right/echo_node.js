#!/usr/bin/env node
// A foreign right server for lab 4: Node.js, whose libuv waits in epoll, level-triggered. Usage: echo_node.js PORT
// allowHalfOpen keeps our direction open at a client's FIN; pipe() ends it once all is written, and stops reading while output waits.
const net = require('net');

const QUEUE = 512;

function serve(client) {
  client.on('error', () => {});  // this client has gone; the others have not
  client.pipe(client);
}

net.createServer({allowHalfOpen: true}, serve).listen(Number(process.argv[2]), '127.0.0.1', QUEUE);
