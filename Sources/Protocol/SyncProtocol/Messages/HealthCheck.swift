/// Checks whether the server works. Load balancers can use it too.
public struct HealthCheckRequest: RequestMessage {
    public typealias Response = HealthCheckResponse
    public typealias Access = AnyoneAccess
    public static let endpoint = EndpointName.healthCheck
    public static let fields = QueryFields(Self.init)

    /// A request has no parameters.
    public init() {}
}

/// Reports that the server works, including its database.
public struct HealthCheckResponse: ResponseMessage {
    /// The server's clock.
    public let currentServerDateTime: WireDate
    /// Seconds since the answering process started, more than 0.
    public let serverUptime: Double
    /// The server's version, as in the header `syncserver-version`.
    public let deployedGitTag: String
    /// Counters for people, in the form `name: value; `.
    public let diagnostics: String?
    /// What the server currently accepts; `nil` from servers before 1.1, and for words that this release does not know.
    public let availability: Availability?
    /// The types of files that the server accepts; `nil` from servers that do not report them, which accept at least
    /// ``MIMETypeTable/deployed``.
    public let mimeTypes: [MIMEType]?
    /// What one ``UploadSmallFilesRequest`` may contain; `nil` from servers without that endpoint.
    public let uploadSmallFiles: SmallFileLimits?

    /// What a working server accepts.
    public enum Availability: String, Sendable, CaseIterable {
        /// Everything.
        case full
        /// Downloads and lists; the database refuses changes.
        case readOnly
        /// Nothing: the server is closed for maintenance.
        case maintenance
    }

    /// Creates a response.
    public init(
        currentServerDateTime: WireDate, serverUptime: Double, deployedGitTag: String, diagnostics: String? = nil,
        availability: Availability? = nil, mimeTypes: [MIMEType]? = nil, uploadSmallFiles: SmallFileLimits? = nil
    ) {
        self.currentServerDateTime = currentServerDateTime
        self.serverUptime = serverUptime
        self.deployedGitTag = deployedGitTag
        self.diagnostics = diagnostics
        self.availability = availability
        self.mimeTypes = mimeTypes
        self.uploadSmallFiles = uploadSmallFiles
    }

    private enum CodingKeys: String, CodingKey {
        case currentServerDateTime, serverUptime, deployedGitTag, diagnostics, availability, mimeTypes, uploadSmallFiles
    }

    /// Decodes a reply.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        currentServerDateTime = try container.decode(WireDate.self, forKey: .currentServerDateTime)
        serverUptime = try container.number(.serverUptime)
        deployedGitTag = try container.decode(String.self, forKey: .deployedGitTag)
        diagnostics = try container.decodeIfPresent(String.self, forKey: .diagnostics)
        availability = try container.decodeIfPresent(String.self, forKey: .availability).flatMap(Availability.init)
        mimeTypes = try container.decodeIfPresent([String].self, forKey: .mimeTypes)?.compactMap { MIMEType($0) }
        uploadSmallFiles = try container.decodeIfPresent(SmallFileLimits.self, forKey: .uploadSmallFiles)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("currentServerDateTime", currentServerDateTime)
            writer.key("serverUptime")
            writer.value(serverUptime)
            writer.field("deployedGitTag", text: deployedGitTag)
            writer.field("diagnostics", text: diagnostics)
            writer.field("availability", text: availability?.rawValue)
            if let mimeTypes {
                writer.key("mimeTypes")
                writer.array { writer in for type in mimeTypes { writer.value(text: type.rawValue) } }
            }
            guard let uploadSmallFiles else { return }
            writer.key("uploadSmallFiles")
            uploadSmallFiles.write(to: &writer)
        }
    }
}
