// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The C library. Most of it is Glibc here, so that a check does not see functions that only Glibc has.
@_exported public import Glibc

public let SOCK_STREAM: Int32 = 1
public let SO_NOSIGPIPE: Int32 = 0x1022
public let RENAME_SWAP: Int32 = 2
public let RENAME_EXCL: Int32 = 4

public func renameatx_np(
    _ oldFolder: Int32, _ old: UnsafePointer<CChar>, _ newFolder: Int32, _ new: UnsafePointer<CChar>, _ flags: UInt32
) -> Int32 { -1 }

extension stat {
    public var st_mtimespec: timespec { st_mtim }
    public var st_ctimespec: timespec { st_ctim }
}
