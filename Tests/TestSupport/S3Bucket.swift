import Foundation

/// Direct access to the bucket of a real server, without the interface under test.
public struct S3Bucket: Sendable {
    /// The only bucket.
    public static let name = "photos"

    private let server: StorageServerProcess
    /// Whether the server stores objects as files.
    private let hasFiles: Bool
    /// Whether the server accepts unsigned requests.
    private let isOpen: Bool

    /// - Parameter kind: moto, rclone or SeaweedFS with the interface of Amazon S3.
    public init(_ kind: StorageServerProcess.Kind) throws {
        server = try StorageServerProcess.of(kind)
        hasFiles = kind == .s3Rclone
        isOpen = kind == .s3SeaweedFS
    }

    /// The objects whose keys begin with `prefix` and contain no further slash.
    public func objects(behind prefix: String) throws -> [(name: String, size: Int)] {
        if hasFiles {
            let place = server.files.appending(path: "\(Self.name)/\(prefix)")
            let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
            return try names.map { name in
                let file = try FileManager.default.attributesOfItem(atPath: place.appending(path: name).path)
                return (name, file[.size] as? Int ?? -1)
            }
        }
        let reply = try call("GET", "?list-type=2&max-keys=1000&prefix=\(Self.encoded(prefix))")
        let text = String(decoding: reply.body, as: UTF8.self)
        return text.split(separator: "<Contents>").dropFirst().compactMap { entry in
            guard let key = Self.element("Key", in: entry), let size = Self.element("Size", in: entry) else {
                return nil
            }
            return (String(key.dropFirst(prefix.count)), Int(size) ?? -1)
        }
    }

    public func read(_ key: String) throws -> [UInt8]? {
        if hasFiles { return try? Array(Data(contentsOf: file(key))) }
        let reply = try call("GET", "/" + Self.encoded(key))
        return reply.status == 200 ? reply.body : nil
    }

    public func write(_ bytes: [UInt8], _ key: String) throws {
        if hasFiles {
            let place = file(key)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: place)
            return try server.noticeChanges()
        }
        guard try call("PUT", "/" + Self.encoded(key), bytes).status == 200 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Writes an object as an upload of one part, like other programs with large files, so that its ETag is not an MD5.
    /// Not for rclone.
    public func writeInParts(_ bytes: [UInt8], _ key: String) throws {
        let target = "/" + Self.encoded(key)
        let begun = String(decoding: try call("POST", target + "?uploads=").body, as: UTF8.self)
        guard let id = Self.element("UploadId", in: begun) else { throw CocoaError(.fileWriteUnknown) }
        let part = try call("PUT", "\(target)?partNumber=1&uploadId=\(id)", bytes)
        let tag = part.values(of: "etag").first ?? ""
        let parts =
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\(tag)</ETag></Part></CompleteMultipartUpload>"
        guard try call("POST", "\(target)?uploadId=\(id)", Array(parts.utf8)).status == 200 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }

    public func remove(_ key: String) throws {
        if hasFiles {
            try FileManager.default.removeItem(at: file(key))
            return try server.noticeChanges()
        }
        _ = try call("DELETE", "/" + Self.encoded(key))
    }

    /// The number of multipart uploads that were neither completed nor aborted. Not for rclone.
    public func unfinishedUploads(behind prefix: String) throws -> Int {
        let reply = try call("GET", "?uploads=&prefix=\(Self.encoded(prefix))")
        return String(decoding: reply.body, as: UTF8.self).split(separator: "<UploadId>").count - 1
    }

    private func file(_ key: String) -> URL { server.files.appending(path: "\(Self.name)/\(key)") }

    private func call(_ method: String, _ target: String, _ body: [UInt8]? = nil) throws -> HTTPReply {
        try HTTPAddress("http://127.0.0.1:\(server.port)")
            .perform(
                HTTPCall(
                    method, "/\(Self.name)\(target)",
                    headers: isOpen ? [] : [("Authorization", Self.anySignature)], body: body))
    }

    /// moto accepts any signature.
    private static let anySignature =
        "AWS4-HMAC-SHA256 Credential=AKTEST/20150830/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch Unicode.Scalar(byte) {
            case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~", "/": String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    private static func element(_ name: String, in text: some StringProtocol) -> String? {
        guard let start = text.range(of: "<\(name)>"), let end = text.range(of: "</\(name)>") else { return nil }
        return text[start.upperBound..<end.lowerBound].replacingOccurrences(of: "&amp;", with: "&")
            .replacingOccurrences(of: "&lt;", with: "<").replacingOccurrences(of: "&gt;", with: ">")
            .replacingOccurrences(of: "&#x27;", with: "'").replacingOccurrences(of: "&quot;", with: "\"")
            .replacingOccurrences(of: "&#39;", with: "'").replacingOccurrences(of: "&#34;", with: "\"")
    }
}
