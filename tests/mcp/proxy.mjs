// startProxy(address, token): a server on 127.0.0.1 that hands every request on to the
// server at the address, with the token; for programs that cannot be given one. Host and
// Origin stay as they are, but for the port. Resolves to its own address.
//
// proxy.mjs ADDRESS: the same with the token in $TOKEN; prints its address.
import http from 'node:http';
import { fileURLToPath } from 'node:url';

export function startProxy(address, token) {
    const target = new URL(address);
    return new Promise((resolve) => {
        const proxy = http.createServer((request, response) => {
            const headers = { ...request.headers, authorization: `Bearer ${token}` };
            const mine = `:${proxy.address().port}`;
            for (const name of ['host', 'origin'])
                if (headers[name]?.endsWith(mine)) headers[name] = headers[name].slice(0, -mine.length) + `:${target.port}`;
            const onward = http.request(
                { host: target.hostname, port: target.port, path: request.url, method: request.method, headers },
                (answer) => {
                    response.writeHead(answer.statusCode, answer.headers);
                    answer.pipe(response);
                },
            );
            onward.on('error', () => response.destroy());
            response.on('close', () => onward.destroy());
            request.pipe(onward);
        });
        proxy.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${proxy.address().port}/mcp`, close: () => proxy.close() }));
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
    startProxy(process.argv[2], process.env.TOKEN).then(({ url }) => console.log(url));
