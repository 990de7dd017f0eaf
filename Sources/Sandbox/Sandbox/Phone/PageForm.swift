/// A form of one of the pages for people, sent by a browser.
struct PageForm {
    /// The value of each field.
    private var values: [String: [UInt8]] = [:]
    /// The media types of file fields.
    private var types: [String: String] = [:]

    /// The maximum size of everything except a file's contents, in bytes.
    private static let overhead = 65_536
    private static let types: Set<String> = ["application/x-www-form-urlencoded", "multipart/form-data"]

    /// Whether the request contains a form.
    static func isForm(_ request: SandboxRequest) -> Bool { types.contains(request.mediaType) }

    /// Whether the form comes from a page of this very origin. Browsers report the origin with every form (Fetch,
    /// section 3.2), and no page can change that.
    static func isFromOwnPage(_ request: SandboxRequest) -> Bool {
        guard let origin = request.header("origin"), let host = request.header("host") else { return false }
        return origin.lowercased() == "http://" + host.lowercased()
    }

    /// Reads the form.
    /// - Throws: ``ControlError/badRequest(_:)``, ``RequestBodyError``.
    init(_ request: SandboxRequest) throws {
        guard request.mediaType == "multipart/form-data" else {
            for item in try request.readForm()?.items ?? [] { values[item.name] = Array(item.value.utf8) }
            return
        }
        let bytes: [UInt8]
        do { bytes = try request.body.readAll(limit: PhoneSession.longestFile + Self.overhead) } catch .tooLong {
            throw ControlError.badRequest("the file is larger than \(PageText.size(PhoneSession.longestFile))")
        }
        do throws(MultipartBody.Malformed) {
            let body = try MultipartBody(
                "form-data", contentType: request.header("content-type") ?? "", body: bytes)
            for part in body.parts {
                guard let name = Self.name(part.headers["content-disposition"] ?? "") else { continue }
                values[name] = Array(part.content)
                types[name] = part.headers["content-type"]
            }
        } catch {
            throw ControlError.badRequest(error.message)
        }
    }

    /// The trimmed text of a field.
    /// - Throws: ``ControlError/badRequest(_:)`` if it is missing, empty or not text.
    subscript(_ name: String) -> String {
        get throws(ControlError) {
            let text = values[name].flatMap { String(validating: $0, as: UTF8.self) }
            let blanks: Set<Character> = [" ", "\t", "\r", "\n", "\r\n"]
            guard var trimmed = text?[...] else { throw .badRequest("the field \(name) is missing") }
            while let first = trimmed.first, blanks.contains(first) { trimmed.removeFirst() }
            while let last = trimmed.last, blanks.contains(last) { trimmed.removeLast() }
            guard !trimmed.isEmpty else { throw .badRequest("the field \(name) is empty") }
            return String(trimmed)
        }
    }

    /// The file in a field, with the type reported by the browser.
    func file(_ name: String) throws(ControlError) -> (contents: [UInt8], type: String) {
        guard let contents = values[name], let type = types[name] else {
            throw .badRequest("no file was chosen")
        }
        return (contents, type.prefix { $0 != ";" }.lowercased())
    }

    /// The `name` of a `Content-Disposition` (RFC 7578, section 4.2). The names are those of our own pages.
    private static func name(_ disposition: String) -> String? {
        disposition.firstMatch(of: /;\s*name="([^"]*)"/).map { String($0.1) }
    }
}
