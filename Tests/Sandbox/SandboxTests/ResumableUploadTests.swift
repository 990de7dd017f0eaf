import OpenSSLCrypto
import Testing

@testable import Sandbox

@Suite("Resumable uploads")
struct ResumableUploadTests {
    private let chunk = 262_144
    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    @Test(
        "Chunks are assembled into the file, and the last reply has the fields requested at the start",
        arguments: [0, 1, 262_143, 262_144, 262_145, 600_000])
    func chunks(size: Int) throws {
        let user = try DriveUser(try TestSandbox())
        let content = bytes(size)
        let url = try user.startUpload(["name": "a"], query: "&fields=id,size,md5Checksum,sha256Checksum")
        var response = size == 0 ? user.put(url, "bytes */0") : SandboxResponse(308)

        for first in stride(from: 0, to: size, by: chunk) {
            let last = min(first + chunk, size) - 1
            #expect(response.status == 308)
            response = user.put(
                url, "bytes \(first)-\(last)/\(last + 1 == size ? String(size) : "*")", Array(content[first...last]))
        }

        let json = try response.json()
        #expect(response.status == 200)
        #expect(json["size"]?.string == String(size))
        #expect(json["md5Checksum"]?.string == IncrementalDigest.digest(of: content, .md5).hexLowercase)
        #expect(json["sha256Checksum"]?.string == IncrementalDigest.digest(of: content, .sha256).hexLowercase)
        #expect(try user.put(url, "bytes */\(size)").content() == response.content())
        let id = try #require(json["id"]?.string)
        let download = user.sandbox.send("GET", DriveUser.files + "/\(id)?alt=media", token: user.token)
        #expect(try download.content() == content)
        #expect(try user.sandbox.violations() == [])
    }

    @Test("The reply to a large upload omits SHA-256, as Drive's sometimes does; the metadata contain it")
    func largeFile() throws {
        let user = try DriveUser(try TestSandbox())
        let content = bytes(StoredContent.largestWithAllChecksums + 1)
        let url = try user.startUpload(["name": "a"], query: "&fields=id,md5Checksum,sha256Checksum")

        let reply = try user.put(url, "bytes 0-\(content.count - 1)/\(content.count)", content).json()
        let id = try #require(reply["id"]?.string)
        let described = try user.sandbox.send(
            "GET", DriveUser.files + "/\(id)?fields=sha256Checksum", token: user.token
        ).json()

        #expect(reply["md5Checksum"] != nil)
        #expect(reply["sha256Checksum"] == nil)
        #expect(described["sha256Checksum"]?.string == IncrementalDigest.digest(of: content, .sha256).hexLowercase)
    }

    @Test("308 has no Range while nothing is stored, and otherwise names the last stored byte")
    func range() throws {
        let user = try DriveUser(try TestSandbox())
        let url = try user.startUpload(["name": "a"])

        let empty = user.put(url, "bytes */*")
        let one = user.put(url, "bytes 0-\(chunk - 1)/*", bytes(chunk))

        #expect(empty.status == 308)
        #expect(empty.header("Range") == nil)
        #expect(one.header("Range") == "bytes=0-262143")
    }

    @Test("A violation is rejected and recorded")
    func violations() throws {
        let user = try DriveUser(try TestSandbox())
        let url = try user.startUpload(["name": "a"], headers: [("X-Upload-Content-Length", "600000")])

        let odd = user.put(url, "bytes 0-99999/600000", bytes(100_000))
        let gap = user.put(url, "bytes 262144-524287/600000", bytes(chunk))
        let total = user.put(url, "bytes 0-262143/700000", bytes(chunk))
        let length = user.put(url, "bytes 0-262143/600000", bytes(100))
        let header = user.put(url, "bytes 5-1/600000", bytes(chunk))

        #expect([odd, gap, total, length, header].map(\.status) == [400, 400, 400, 400, 400])
        #expect(
            try user.sandbox.violations() == [
                "chunk-multiple", "upload-offset", "content-range-total", "content-range-length", "content-range",
            ])
    }

    @Test("After a lost connection, whole pieces of 256 KiB are stored, and the upload continues")
    func cut() throws {
        let user = try DriveUser(try TestSandbox())
        let content = bytes(700_000)
        let url = try user.startUpload(["name": "a"], query: "&fields=md5Checksum")
        user.sandbox.send("POST", "/sandbox/faults", json: ["method": "PUT", "resetAfterBytes": 600_000, "times": 1])

        let lost = user.put(url, "bytes 0-699999/700000", content)
        let status = user.put(url, "bytes */700000")
        let rest = user.put(url, "bytes 524288-699999/700000", Array(content[524_288...]))

        #expect(lost.isCut)
        #expect(status.header("Range") == "bytes=0-524287")
        #expect(try rest.json()["md5Checksum"]?.string == IncrementalDigest.digest(of: content, .md5).hexLowercase)
    }

    @Test("The provider may store less than was sent, and bytes sent again are not stored twice")
    func partialPersistence() throws {
        let user = try DriveUser(try TestSandbox())
        let content = bytes(3 * chunk)
        let url = try user.startUpload(["name": "a"], query: "&fields=md5Checksum")
        user.sandbox.send("POST", "/sandbox/faults", json: ["method": "PUT", "keepBytes": 300_000, "times": 1])

        let partial = user.put(url, "bytes 0-\(2 * chunk - 1)/*", Array(content[..<(2 * chunk)]))
        let overlapping = user.put(url, "bytes 0-\(3 * chunk - 1)/\(3 * chunk)", content)

        #expect(partial.header("Range") == "bytes=0-262143")
        #expect(overlapping.status == 200)
        #expect(
            try overlapping.json()["md5Checksum"]?.string == IncrementalDigest.digest(of: content, .md5).hexLowercase)
    }

    @Test("A session survives a restart, and expires after a week")
    func restartAndExpiry() throws {
        let first = try TestSandbox()
        let user = try DriveUser(first)
        let content = bytes(chunk + 10)
        let url = try user.startUpload(["name": "a"], query: "&fields=md5Checksum")
        let other = try user.startUpload(["name": "b"])
        _ = user.put(url, "bytes 0-\(chunk - 1)/*", Array(content[..<chunk]))

        let second = try TestSandbox(directory: first.directory)
        let done = second.send(
            "PUT", url, token: user.token, headers: [("Content-Range", "bytes \(chunk)-\(chunk + 9)/\(chunk + 10)")],
            body: Array(content[chunk...]))
        second.send("POST", "/sandbox/clock", json: ["offsetSeconds": 700_000])

        #expect(try done.json()["md5Checksum"]?.string == IncrementalDigest.digest(of: content, .md5).hexLowercase)
        #expect(second.send("PUT", other, headers: [("Content-Range", "bytes */*")]).status == 404)
    }

    @Test("A token that expires between chunks is rejected; a new one continues the upload")
    func tokenExpiry() throws {
        let user = try DriveUser(try TestSandbox())
        let url = try user.startUpload(["name": "a"])
        _ = user.put(url, "bytes 0-\(chunk - 1)/*", bytes(chunk))
        user.sandbox.send("POST", "/sandbox/accounts/\(user.id)/expire-access-token", json: ["which": "all"])

        let refused = user.put(url, "bytes \(chunk)-\(chunk)/\(chunk + 1)", [1])
        let fresh = try user.sandbox.send("GET", "/sandbox/accounts/\(user.id)").json()["accessToken"]?.string
        let done = user.sandbox.send(
            "PUT", url, token: fresh, headers: [("Content-Range", "bytes \(chunk)-\(chunk)/\(chunk + 1)")], body: [1])

        #expect(refused.status == 401)
        #expect(done.status == 200)
    }

    @Test("An insufficient quota rejects the upload at the start if the length is known, otherwise at the end")
    func quota() throws {
        let user = try DriveUser(try TestSandbox(), ["provider": "google", "quotaBytes": 100])
        let announced = user.sandbox.send(
            "POST", DriveUser.upload + "?uploadType=resumable", token: user.token,
            headers: [("Content-Type", "application/json"), ("X-Upload-Content-Length", "101")], body: [0x7b, 0x7d])
        let url = try user.startUpload(["name": "a"])
        let last = user.put(url, "bytes 0-100/101", bytes(101))

        for response in [announced, last] {
            #expect(response.status == 403)
            #expect(try response.json()["error"]?["errors"]?.array?.first?["reason"] == "storageQuotaExceeded")
        }
    }
}
