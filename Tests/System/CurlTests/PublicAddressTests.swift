import Curl
import Foundation
import TestSupport
import Testing

@Suite("Connections restricted to public addresses")
struct PublicAddressTests {
    /// The bytes of an address, according to the C library.
    private static func bytes(_ text: String) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16)
        let isIPv6 = text.contains(":")
        #expect(unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &buffer) == 1, "\(text) is no address")
        return isIPv6 ? buffer : Array(buffer.prefix(4))
    }

    @Test(
        "Addresses outside the public Internet are rejected, in every form",
        arguments: [
            // This host.
            "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "::1", "::",
            // This network.
            "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255",
            "fc00::1", "fd12:3456:789a::1", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "169.254.0.1", "169.254.255.254", "fe80::1", "febf::1", "fec0::1",
            "100.64.0.1", "100.127.255.255",
            // The metadata services of clouds, which return secrets.
            "169.254.169.254", "169.254.170.2", "192.0.0.192", "100.100.100.200", "168.63.129.16", "fd00:ec2::254",
            // IPv4 inside IPv6.
            "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:a00:1::",
            "2001:0:7f00:1::1", "2001:0:4136:e378:8000:63bf:80ff:fffe", "2606:4700::5efe:7f00:1",
            "2606:4700::200:5efe:a00:1",
            // Documentation, benchmarking and reserved ranges.
            "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "192.88.99.1", "192.0.0.8",
            "192.31.196.1", "192.52.193.1", "192.175.48.1", "2001:db8::1", "3fff::1", "3fff:fff::1", "2001:2::1",
            "2001:10::1", "2001:20::1", "100::1", "2620:4f:8000::1", "5f00::1", "4000::1",
            // Multicast and broadcast.
            "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1", "ff0e::1",
        ])
    func refused(text: String) throws {
        #expect(try !PublicAddresses.contains(Self.bytes(text)))
    }

    @Test(
        "Addresses of the public Internet are accepted, even those adjacent to rejected ranges",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
            "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "203.0.114.0",
            "223.255.255.255", "2606:4700::1111", "2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2003::1",
            "2a00:1450:4001::200e", "3ffe::1",
        ])
    func accepted(text: String) throws {
        #expect(try PublicAddresses.contains(Self.bytes(text)))
    }

    @Test("Only 4 or 16 bytes are an address", arguments: [0, 3, 5, 15, 17])
    func otherLengths(count: Int) {
        #expect(!PublicAddresses.contains([UInt8](repeating: 0x20, count: count)))
    }

    @Test(
        "A request restricted to public addresses does not connect to this host, in any spelling",
        arguments: [
            "127.0.0.1", "localhost", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "0", "0.0.0.0", "[::1]", "[::]",
            "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]",
        ])
    func guarded(host: String) throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil { peer.respond() }
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        var request = Request(url: "http://\(host):\(server.port)/")
        request.reach = .publicAddresses

        #expect(throws: CurlError.forbiddenAddress) { try handle.perform(request) }
        #expect(server.connectionCount == 0)

        // The same handle connects to the same server without the restriction.
        #expect(try handle.perform(Request(url: server.url())).status == 200)
    }
}
