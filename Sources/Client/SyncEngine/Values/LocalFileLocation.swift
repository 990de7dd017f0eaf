/// The location of a file on this device: a base folder and a path below it.
///
/// The path of an app's container may change with each installation, so only the base and the relative path are stored,
/// never the absolute path.
public struct LocalFileLocation: Sendable, Hashable, Codable, CustomStringConvertible {
    /// A folder of the device whose path is determined at each launch.
    public struct Base: RawRepresentable, Sendable, Hashable, Codable {
        /// The name under which the base is stored.
        public let rawValue: String

        /// Creates a base from its stored name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The user's documents.
        public static let documents = Self(rawValue: "documents")
        /// The app's main bundle.
        public static let mainBundle = Self(rawValue: "mainBundle")
        /// The app's supporting files.
        public static let applicationSupport = Self(rawValue: "applicationSupport")
        /// Files that the library owns: copies to upload, and finished downloads until the app takes them.
        public static let library = Self(rawValue: "library")
        /// No base: the path is absolute.
        public static let absolute = Self(rawValue: "absolute")
        /// The shared folder of an app group's apps and extensions.
        public static func appGroup(_ identifier: String) -> Self {
            Self(rawValue: "appGroup:" + identifier)
        }
    }

    /// The folder.
    public let base: Base
    /// The path below it, without a slash at its start unless the base is ``Base/absolute``.
    public let path: String

    /// Creates a location.
    public init(base: Base, path: String) {
        self.base = base
        self.path = path
    }

    /// A description for logs and reports.
    public var description: String { "\(base.rawValue):\(path)" }
}
